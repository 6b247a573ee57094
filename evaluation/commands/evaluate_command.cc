// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/evaluate_command.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/process/cores.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/version.h"
#include "evaluation/commands/evaluation_reference.h"
#include "evaluation/commands/work_folder.h"
#include "evaluation/features/extract_features.h"
#include "evaluation/images/image_set.h"
#include "evaluation/images/resized_images.h"
#include "evaluation/metrics/metrics_self_test.h"
#include "evaluation/metrics/statistics_file.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr int64_t kDefaultGenerated = 50000;
constexpr absl::Duration kEvaluationProgressInterval = absl::Seconds(2);

absl::string_view CardBytesOf(const at::Tensor& labels_N) {
  return {static_cast<const char*>(labels_N.const_data_ptr()),
          labels_N.nbytes()};
}

class EvaluateCommand {
 public:
  explicit EvaluateCommand(const EvaluateRequest& request)
      : request_(request), started_(absl::Now()) {}

  absl::StatusOr<EvaluateReport> Run();

 private:
  // What is judged, by what, with what; and that they fit.
  absl::Status OpenAll();
  absl::Status KeepSubject();
  absl::Status ReadLabels(ImageSet& source);
  // The subject's images, as large as the reference's if asked for.
  absl::StatusOr<std::unique_ptr<ImageSet>> OpenSubject(
      const Reference& reference);
  std::string CardStem() const;
  int Workers(int64_t num_images) const;
  absl::Status Extract();
  absl::Status Compute();
  absl::Status SaveStatistics();
  absl::Status WriteCard();
  std::function<void(int64_t)> ProgressOf(absl::string_view what,
                                          int64_t num_images) const;
  void Say(const std::string& line) const {
    if (request_.say) request_.say(line);
  }

  const EvaluateRequest request_;
  const absl::Time started_;
  MetricSet metrics_;
  Subject subject_;
  std::string output_;
  std::string network_path_;
  FeatureNet net_;
  int64_t num_images_ = 0;
  at::Tensor labels_N_;  // where a metric needs them
  int64_t num_classes_ = 0;
  MetricCard card_;
  std::optional<WorkFolder> work_;
  std::optional<FeatureStore> images_;
  std::optional<EvaluationReference> reference_;  // where a metric needs one
};

absl::Status EvaluateCommand::KeepSubject() {
  std::string identity;
  if (subject_.images.has_generated()) {
    const ImagesSpec::Generated& generated = subject_.images.generated();
    identity = absl::StrCat(
        subject_.manifest, " ", generated.seed(), " ", generated.truncation(),
        " ", generated.device(), " ", generated.noise_scale(), " ",
        generated.standing_steps(), " ", generated.standing_batch());
  } else {
    GANDEM_ASSIGN_OR_RETURN(const auto source, OpenImageSet(subject_.images));
    GANDEM_ASSIGN_OR_RETURN(const ImagesCard card, source->Describe());
    identity = card.sha256();
  }
  GANDEM_ASSIGN_OR_RETURN(
      WorkFolder work, WorkFolder::Take(output_ + "/work", ShortKey(identity)));
  work_.emplace(std::move(work));
  if (!subject_.images.has_generated()) return absl::OkStatus();
  // Before anything of the checkpoint is read: it may be pruned at any time.
  ImagesSpec::Generated& generated = *subject_.images.mutable_generated();
  GANDEM_ASSIGN_OR_RETURN(
      *generated.mutable_checkpoint(),
      KeepCheckpoint(generated.checkpoint(), work_->path()));
  return absl::OkStatus();
}

absl::Status EvaluateCommand::ReadLabels(ImageSet& source) {
  num_classes_ = source.num_classes();
  absl::StatusOr<at::Tensor> labels =
      source.ReadLabels({.first = 0, .count = num_images_});
  if (!labels.ok()) {
    return Annotate(labels.status(),
                    absl::StrCat("intra_fid, ", request_.subject.source));
  }
  labels_N_ = *std::move(labels);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ImageSet>> EvaluateCommand::OpenSubject(
    const Reference& reference) {
  if (request_.resize.empty()) return OpenImageSet(subject_.images);
  if (!reference.images.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        reference.name,
        " holds statistics, which do not tell the size of images: --resize "
        "needs the images themselves as --reference"));
  }
  GANDEM_ASSIGN_OR_RETURN(const auto target, OpenImageSet(*reference.images));
  GANDEM_ASSIGN_OR_RETURN(auto source, OpenImageSet(subject_.images));
  const ImageShape from = source->shape();
  const ImageShape to = target->shape();
  if (from.height == to.height && from.width == to.width) return source;
  ImagesSpec::Resize& resize = *subject_.images.mutable_resize();
  resize.set_kernel(request_.resize);
  resize.set_height(to.height);
  resize.set_width(to.width);
  return ResizeImages(std::move(source), resize);
}

absl::Status EvaluateCommand::OpenAll() {
  GANDEM_ASSIGN_OR_RETURN(subject_, FindSubject(request_.subject));
  output_ = request_.output.empty() ? subject_.output : request_.output;
  GANDEM_RETURN_IF_ERROR(CreateDirectories(output_));
  GANDEM_RETURN_IF_ERROR(KeepSubject());
  Reference reference;
  if (metrics_.needs_reference()) {
    GANDEM_ASSIGN_OR_RETURN(reference,
                            FindReference(request_.reference, subject_));
  }
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<ImageSet> source,
                          OpenSubject(reference));
  num_images_ = request_.num.value_or(
      std::min(source->size(), subject_.images.has_generated()
                                   ? kDefaultGenerated
                                   : EvaluateRequest::kMaxImages));
  if (num_images_ > source->size() || num_images_ < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(request_.subject.source, " holds ", source->size(),
                     " images; --num ", num_images_, " cannot be had"));
  }
  GANDEM_ASSIGN_OR_RETURN(*card_.mutable_images(), source->Describe());
  card_.mutable_images()->set_name(subject_.name);
  card_.mutable_images()->set_num_images(num_images_);
  if (metrics_.intra_class) GANDEM_RETURN_IF_ERROR(ReadLabels(*source));
  GANDEM_ASSIGN_OR_RETURN(network_path_,
                          FindNetwork(request_.features, subject_, reference,
                                      [this](const auto& line) { Say(line); }));
  GANDEM_ASSIGN_OR_RETURN(
      const std::unique_ptr<FeatureExtractor> extractor,
      OpenFeatureExtractor(network_path_, {.image_shape = source->shape()}));
  net_ = extractor->net();
  FeaturesCard& features = *card_.mutable_features();
  features.set_network(net_.name);
  features.set_sha256(net_.sha256);
  features.set_dim(net_.feature_dim);
  features.set_num_classes(net_.num_classes);
  features.set_resize(net_.resize);
  if (!metrics_.needs_reference()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(
      reference_, EvaluationReference::Open(reference, net_, network_path_,
                                            card_.images(), metrics_));
  *card_.mutable_reference() = reference_->card();
  for (const std::string& warning : reference_->warnings()) {
    card_.add_warnings(warning);
  }
  return absl::OkStatus();
}

std::string EvaluateCommand::CardStem() const {
  std::string all = absl::StrCat(
      MetricSetText(metrics_), " ", num_images_, " ", request_.splits, " ",
      request_.bootstrap, " ", card_.images().sha256(), " ",
      card_.reference().sha256(), " ", card_.reference().num_images(), " ",
      net_.sha256, " ", net_.resize);
  if (metrics_.intra_class) {
    // The hashes above say nothing of labels.
    absl::StrAppend(&all, " ", ShortKey(CardBytesOf(labels_N_)), " ",
                    ShortKey(CardBytesOf(reference_->labels_N())));
  }
  return absl::StrCat(output_, "/", subject_.stem, "-", MetricSetText(metrics_),
                      "-", ShortKey(all));
}

std::function<void(int64_t)> EvaluateCommand::ProgressOf(
    absl::string_view what, int64_t num_images) const {
  // Images that were there before say nothing about the speed.
  return [this, num_images, what = std::string(what), first = int64_t{-1},
          first_time = absl::Time(),
          last_said = absl::Now()](int64_t present) mutable {
    const absl::Time now = absl::Now();
    if (first < 0) {
      first = present;
      first_time = now;
    }
    if (present < num_images && now - last_said < kEvaluationProgressInterval) {
      return;
    }
    last_said = now;
    const double seconds = absl::ToDoubleSeconds(now - first_time);
    const double rate =
        seconds > 0 ? static_cast<double>(present - first) / seconds : 0;
    Say(absl::StrFormat("features of %s: %d/%d images | %.0f images/s", what,
                        present, num_images, rate));
  };
}

// Unless asked for: one a core, if it has enough to do for its start to pay.
int EvaluateCommand::Workers(int64_t num_images) const {
  constexpr int64_t kImagesOfOne = 1024;
  // Each holds a network of its own in memory.
  constexpr int64_t kMost = 16;
  const auto cores = static_cast<int64_t>(AllowedCores().size());
  const int64_t unasked =
      std::clamp(num_images / kImagesOfOne, int64_t{1}, std::min(cores, kMost));
  return request_.workers.value_or(static_cast<int>(unasked));
}

absl::Status EvaluateCommand::Extract() {
  FeatureJob job;
  *job.mutable_images() = subject_.images;
  job.set_network(network_path_);
  job.set_network_sha256(net_.sha256);
  // Features of another network, or of resized images, go to another folder.
  std::string folder = work_->path() + "/" + NetworkKey(net_);
  if (subject_.images.has_resize()) {
    absl::StrAppend(&folder, "-", ShortKey(card_.images().sha256()));
  }
  GANDEM_ASSIGN_OR_RETURN(images_, FeatureStore::Create(folder, job));
  if (reference_.has_value()) {
    const int64_t num_reference = card_.reference().num_images();
    GANDEM_RETURN_IF_ERROR(reference_->Extract(
        Workers(num_reference), ProgressOf("the reference", num_reference)));
  }
  return ExtractFeatures(*images_,
                         {.num_images = num_images_,
                          .workers = Workers(num_images_),
                          .progress = ProgressOf("the images", num_images_)});
}

absl::Status EvaluateCommand::Compute() {
  std::optional<FeatureSide> reference;
  std::optional<Moments> moments;
  if (reference_.has_value()) reference = reference_->features();
  if (metrics_.frechet) {
    GANDEM_ASSIGN_OR_RETURN(moments, reference_->ReadMomentsOnce());
  }
  GANDEM_ASSIGN_OR_RETURN(const std::vector<Metric> metrics,
                          ComputeMetrics(net_,
                                         {.store = &*images_,
                                          .num_images = num_images_,
                                          .labels_N = labels_N_},
                                         reference, moments,
                                         {.metrics = metrics_,
                                          .splits = request_.splits,
                                          .bootstrap = request_.bootstrap,
                                          .num_classes = num_classes_}));
  for (const Metric& metric : metrics) *card_.add_metrics() = metric;
  if (metrics_.frechet) WarnOfFewImages(num_images_, card_);
  if (metrics_.intra_class) {
    WarnOfSmallClasses(labels_N_, reference_->labels_N(), num_classes_, card_);
  }
  return absl::OkStatus();
}

absl::Status EvaluateCommand::SaveStatistics() {
  const std::string& path = request_.save_statistics;
  if (path.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(Moments moments,
                          ReadMoments(*images_, net_, num_images_));
  return WriteStatistics(path,
                         {.moments = std::move(moments),
                          .net_name = net_.name,
                          .net_sha256 = net_.sha256,
                          .resize = net_.resize,
                          .reference_name = card_.images().name(),
                          .reference_split = card_.images().split(),
                          .reference_hash = card_.images().sha256()},
                         absl::EndsWith(path, ".npz")
                             ? StatisticsFormat::kPytorchFid
                             : StatisticsFormat::kSafetensors);
}

absl::Status EvaluateCommand::WriteCard() {
  card_.set_version(std::string(GandemVersion()));
  const absl::Time now = absl::Now();
  card_.set_unix_seconds(absl::ToDoubleSeconds(now - absl::UnixEpoch()));
  card_.set_seconds(absl::ToDoubleSeconds(now - started_));
  if (!subject_.tensorboard.empty()) {
    GANDEM_RETURN_IF_ERROR(AddCardScalars(subject_.tensorboard, card_));
  }
  GANDEM_FAILPOINT("evaluation.before_card");
  return WriteMetricCard(CardStem(), card_);
}

absl::StatusOr<EvaluateReport> EvaluateCommand::Run() {
  at::set_num_threads(1);
  GANDEM_RETURN_IF_ERROR(CheckEvaluateRequest(request_));
  GANDEM_ASSIGN_OR_RETURN(metrics_, ParseMetrics(request_.metrics));
  GANDEM_RETURN_IF_ERROR(MetricsSelfTest());
  const absl::Status opened = OpenAll();
  if (!opened.ok()) {
    // What has computed nothing leaves nothing.
    if (work_.has_value()) work_->Remove().IgnoreError();
    return opened;
  }
  EvaluateReport report;
  report.path = CardStem() + ".textproto";
  const absl::StatusOr<MetricCard> there = ReadMetricCard(report.path);
  report.was_there = there.ok();
  if (there.ok() && request_.save_statistics.empty()) {
    report.card = *there;
    GANDEM_RETURN_IF_ERROR(work_->Remove());
    return report;
  }
  GANDEM_RETURN_IF_ERROR(Extract());
  GANDEM_RETURN_IF_ERROR(SaveStatistics());
  GANDEM_RETURN_IF_ERROR(Compute());
  GANDEM_RETURN_IF_ERROR(WriteCard());
  GANDEM_RETURN_IF_ERROR(work_->Remove());
  report.card = card_;
  return report;
}

}  // namespace

absl::Status CheckEvaluateRequest(const EvaluateRequest& request) {
  Faults faults("evaluate");
  const absl::StatusOr<MetricSet> metrics = ParseMetrics(request.metrics);
  if (!metrics.ok()) faults.Add(std::string(metrics.status().message()));
  if (!request.resize.empty()) {
    const absl::Status kernel = CheckResizeKernel(request.resize);
    if (!kernel.ok()) faults.Add(std::string(kernel.message()));
    if (metrics.ok() && !metrics->needs_reference()) {
      faults.Add("resize needs a metric that compares with a reference");
    }
  }
  if (request.num.has_value()) {
    faults.CheckRange("num", *request.num, 2, EvaluateRequest::kMaxImages);
  }
  faults.CheckRange("splits", request.splits, 1, 1000);
  if (request.workers.has_value()) {
    faults.CheckRange("workers", *request.workers, 1,
                      EvaluateRequest::kMaxWorkers);
  }
  if (request.bootstrap != 0) {
    faults.CheckRange("bootstrap", request.bootstrap, 2, 10000);
  }
  return faults.ToStatus();
}

absl::StatusOr<EvaluateReport> RunEvaluateCommand(
    const EvaluateRequest& request) {
  return EvaluateCommand(request).Run();
}

}  // namespace gandem
