// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/evaluate_command.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/version.h"
#include "evaluation/features/extract_features.h"
#include "evaluation/features/extraction_progress.h"
#include "evaluation/features/train_features.h"
#include "evaluation/images/image_set.h"
#include "evaluation/judging/card_warnings.h"
#include "evaluation/judging/evaluation_network.h"
#include "evaluation/judging/evaluation_reference.h"
#include "evaluation/judging/extra_metric.h"
#include "evaluation/judging/statistics_subject.h"
#include "evaluation/judging/subject_images.h"
#include "evaluation/kept/feature_cache.h"
#include "evaluation/kept/work_folder.h"
#include "evaluation/metrics/metrics_self_test.h"
#include "evaluation/metrics/statistics_file.h"
#include "models/torch.h"

namespace gandem {
namespace {

std::string LabelsKey(const at::Tensor& labels_N) {
  return ShortKey(
      {static_cast<const char*>(labels_N.const_data_ptr()), labels_N.nbytes()});
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
  // What is judged is a statistics file.
  absl::Status OpenStatistics();
  absl::StatusOr<Reference> OpenReference();
  // `any_size` of EvaluationReference.
  absl::Status OpenReferenceSide(const Reference& reference, bool any_size);
  absl::Status OpenNetwork(const ImageShape& shape, const Reference& reference,
                           const JudgedImages& judged = {});
  void UseNetwork(EvaluationNetwork network);
  const FeatureNet& net() const { return network_.net(); }
  // Where folders of features are.
  std::string FeaturesFolder() const {
    return request_.feature_cache_gib == 0 ? work_->path()
                                           : DefaultFeatureCache() + "/images";
  }
  void TrimCache();
  MetricOptions OptionsOfMetrics() const {
    return MetricOptionsOf(request_, metrics_, num_classes_);
  }
  absl::Status ReadLabels(ImageSet& source);
  std::string CardStem() const;
  absl::Status Extract();
  absl::Status Compute();
  absl::Status SaveStatistics();
  absl::Status WriteCard();
  void Say(const std::string& line) const {
    if (request_.say) request_.say(line);
  }

  const EvaluateRequest request_;
  const absl::Time started_;
  MetricSet metrics_;
  Subject subject_;
  std::string output_;
  EvaluationNetwork network_{FeatureNet()};
  int64_t num_images_ = 0;
  int64_t num_reference_ = 0;  // 0: statistics, or no reference
  at::Tensor labels_N_;        // where a metric needs them
  int64_t num_classes_ = 0;
  MetricCard card_;
  std::optional<WorkFolder> work_;
  std::optional<CachedFolder> images_folder_;
  std::optional<FeatureStore> images_;  // none where there are statistics
  std::optional<EvaluationReference> reference_;  // where a metric needs one
};

absl::Status EvaluateCommand::KeepSubject() {
  GANDEM_ASSIGN_OR_RETURN(const std::string identity, IdentityOf(subject_));
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

absl::StatusOr<Reference> EvaluateCommand::OpenReference() {
  Reference reference;
  if (!metrics_.needs_reference()) return reference;
  GANDEM_ASSIGN_OR_RETURN(reference,
                          FindReference(request_.reference, subject_));
  if (!reference.images.has_value()) return reference;
  GANDEM_ASSIGN_OR_RETURN(const auto images, OpenImageSet(*reference.images));
  KeepShape(*images, *reference.images);
  num_reference_ = images->size();
  return reference;
}

absl::Status EvaluateCommand::OpenNetwork(const ImageShape& shape,
                                          const Reference& reference,
                                          const JudgedImages& judged) {
  GANDEM_ASSIGN_OR_RETURN(
      EvaluationNetwork network,
      EvaluationNetwork::Open(request_, subject_, reference, shape, judged));
  UseNetwork(std::move(network));
  return absl::OkStatus();
}

void EvaluateCommand::UseNetwork(EvaluationNetwork network) {
  network_ = std::move(network);
  *card_.mutable_features() = network_.Card();
}

absl::Status EvaluateCommand::OpenReferenceSide(const Reference& reference,
                                                bool any_size) {
  GANDEM_ASSIGN_OR_RETURN(
      reference_, EvaluationReference::Open(reference, net(), network_.Job(),
                                            card_.images(), metrics_, any_size,
                                            FeaturesFolder()));
  *card_.mutable_reference() = reference_->card();
  for (const std::string& warning : reference_->warnings()) {
    card_.add_warnings(warning);
  }
  return absl::OkStatus();
}

// Two statistics files need no network; one beside images is taken for what
// the network of the images gives.
absl::Status EvaluateCommand::OpenStatistics() {
  const FeatureStatistics& statistics = *subject_.statistics;
  GANDEM_RETURN_IF_ERROR(CheckStatisticsRequest(request_, metrics_));
  GANDEM_ASSIGN_OR_RETURN(Reference reference, OpenReference());
  num_images_ = statistics.moments.count;
  GANDEM_RETURN_IF_ERROR(
      CheckNumImages(OptionsOfMetrics(), num_images_, num_reference_));
  GANDEM_ASSIGN_OR_RETURN(*card_.mutable_images(),
                          CardOfStatistics(subject_.name, statistics));
  if (reference.images.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(const auto images, OpenImageSet(*reference.images));
    GANDEM_RETURN_IF_ERROR(OpenNetwork(images->shape(), reference));
  } else if (!request_.features.empty()) {
    GANDEM_RETURN_IF_ERROR(
        OpenNetwork(ExtractorOptions().image_shape, reference));
  } else {
    GANDEM_ASSIGN_OR_RETURN(const auto resize, InputResizeOf(request_));
    UseNetwork(EvaluationNetwork(
        NetOfStatistics(statistics, *reference.statistics, resize)));
  }
  GANDEM_ASSIGN_OR_RETURN(const auto assumed,
                          CheckStatisticsOf(subject_.name, statistics, net()));
  for (const std::string& warning : assumed) card_.add_warnings(warning);
  return OpenReferenceSide(reference, /*any_size=*/true);
}

// What cannot be computed is found out here, before any feature is.
absl::Status EvaluateCommand::OpenAll() {
  GANDEM_ASSIGN_OR_RETURN(subject_, FindSubject(request_.subject));
  output_ = request_.output.empty() ? subject_.output : request_.output;
  GANDEM_RETURN_IF_ERROR(CreateDirectories(output_));
  GANDEM_RETURN_IF_ERROR(KeepSubject());
  for (const std::string& skipped : subject_.skipped) {
    card_.add_warnings(skipped);
  }
  if (subject_.statistics.has_value()) return OpenStatistics();
  GANDEM_ASSIGN_OR_RETURN(Reference reference, OpenReference());
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<ImageSet> source,
                          OpenSubjectImages(request_, reference, subject_));
  GANDEM_ASSIGN_OR_RETURN(num_images_, NumToJudge(request_, subject_, *source));
  GANDEM_RETURN_IF_ERROR(
      CheckNumImages(OptionsOfMetrics(), num_images_, num_reference_));
  GANDEM_ASSIGN_OR_RETURN(*card_.mutable_images(), source->Describe());
  card_.mutable_images()->set_name(subject_.name);
  card_.mutable_images()->set_num_images(num_images_);
  if (metrics_.intra_class) GANDEM_RETURN_IF_ERROR(ReadLabels(*source));
  GANDEM_RETURN_IF_ERROR(OpenNetwork(source->shape(), reference,
                                     {.images = source.get(),
                                      .num_images = num_images_,
                                      .sha256 = card_.images().sha256()}));
  if (!metrics_.needs_reference()) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(OpenReferenceSide(
      reference, request_.resize == EvaluateRequest::kKeepSizes));
  if (!metrics_.intra_class) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(
      CheckClasses("what is judged", labels_N_, num_classes_));
  return CheckClasses("the reference", reference_->labels_N(), num_classes_);
}

std::string EvaluateCommand::CardStem() const {
  std::string all = absl::StrCat(
      MetricSetText(metrics_), " ", num_images_, " ", request_.splits, " ",
      request_.halvings, " ", request_.kernel.num_subsets, " ",
      request_.kernel.subset_rows, " ", request_.kernel.degree, " ",
      request_.neighbors.value_or(0), " ", card_.images().sha256(), " ",
      card_.reference().sha256(), " ", card_.reference().num_images(), " ",
      net().sha256, " ", net().resize, net().part, net().compute);
  // A card that says what was tried out, beside one that does not.
  if (card_.features().has_trial()) absl::StrAppend(&all, " fastest");
  if (metrics_.intra_class) {
    // The hashes above say nothing of labels.
    absl::StrAppend(&all, " ", LabelsKey(labels_N_), " ",
                    LabelsKey(reference_->labels_N()));
  }
  return absl::StrCat(output_, "/", subject_.stem, "-", MetricSetText(metrics_),
                      "-", ShortKey(all));
}

absl::Status EvaluateCommand::Extract() {
  std::vector<ExtractWork> work;
  if (reference_.has_value() && reference_->features().has_value()) {
    const FeatureSide reference = *reference_->features();
    work.push_back(
        {.store = reference.store, .num_images = reference.num_images});
  }
  if (!subject_.statistics.has_value()) {
    FeatureJob job = network_.Job();
    *job.mutable_images() = subject_.images;
    job.set_side("the images to judge");
    // The hash is of the resize and of which images are drawn, too.
    GANDEM_ASSIGN_OR_RETURN(
        images_folder_,
        CachedFolder::Hold(FeaturesFolder(),
                           FeaturesKey(card_.images().sha256(), net())));
    GANDEM_ASSIGN_OR_RETURN(images_,
                            FeatureStore::Create(images_folder_->path(), job));
    work.push_back({.store = &*images_, .num_images = num_images_});
  }
  TrimCache();
  int64_t num_images = 0;
  for (const ExtractWork& part : work) num_images += part.num_images;
  ExtractionProgress progress(num_images, request_.say);
  return ExtractFeatures(
      work, {.workers = request_.workers.value_or(DefaultWorkers(num_images)),
             .progress = [&](int64_t present) {
               progress.Add(present, absl::Now());
             }});
}

absl::Status EvaluateCommand::Compute() {
  std::optional<FeatureSide> reference;
  std::optional<Moments> moments;
  if (reference_.has_value()) {
    reference = reference_->features();
    GANDEM_ASSIGN_OR_RETURN(moments, reference_->ReadMomentsOnce());
  }
  if (subject_.statistics.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(
        *card_.add_metrics(),
        DistanceOfMoments(net(), subject_.statistics->moments, *moments));
    WarnOfFewImages(num_images_, card_);
    return DescribeInformation(net(), *moments, reference, card_);
  }
  GANDEM_ASSIGN_OR_RETURN(
      const std::vector<Metric> metrics,
      ComputeMetrics(net(),
                     {.store = &*images_,
                      .num_images = num_images_,
                      .labels_N = labels_N_},
                     reference, moments, OptionsOfMetrics()));
  for (const Metric& metric : metrics) *card_.add_metrics() = metric;
  if (metrics_.frechet) WarnOfFewImages(num_images_, card_);
  GANDEM_ASSIGN_OR_RETURN(const std::vector<ExtraMetric> extras,
                          WantedExtraMetrics(metrics_));
  for (const ExtraMetric& extra : extras) {
    if (extra.warn != nullptr) {
      extra.warn(num_images_, net().feature_dim, card_);
    }
  }
  if (metrics_.intra_class) {
    WarnOfSmallClasses(labels_N_, reference_->labels_N(), num_classes_, card_);
  }
  if (!moments.has_value()) return absl::OkStatus();
  return DescribeInformation(net(), *moments, reference, card_);
}

absl::Status EvaluateCommand::SaveStatistics() {
  const std::string& path = request_.save_statistics;
  if (path.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(const StatisticsFormat format,
                          StatisticsFormatOf(path));
  GANDEM_ASSIGN_OR_RETURN(Moments moments,
                          ReadMoments(*images_, net(), num_images_));
  return WriteStatistics(path,
                         {.moments = std::move(moments),
                          .net_name = net().name,
                          .net_sha256 = net().sha256,
                          .resize = net().resize,
                          .reference_name = card_.images().name(),
                          .reference_split = card_.images().split(),
                          .reference_hash = card_.images().sha256()},
                         format);
}

absl::Status EvaluateCommand::WriteCard() {
  WarnOfEqualSides(card_);
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

// A cache that is too large is no reason to lose the card.
void EvaluateCommand::TrimCache() {
  if (request_.feature_cache_gib == 0) return;
  const absl::Status trimmed =
      TrimFeatureCache(FeaturesFolder(), request_.feature_cache_gib << 30);
  if (!trimmed.ok()) Say(absl::StrCat("not trimmed: ", trimmed.message()));
}

absl::StatusOr<EvaluateReport> EvaluateCommand::Run() {
  at::set_num_threads(1);
  GANDEM_RETURN_IF_ERROR(CheckEvaluateRequest(request_));
  GANDEM_ASSIGN_OR_RETURN(metrics_, ParseMetrics(request_.metrics));
  if (!request_.save_statistics.empty()) {
    GANDEM_RETURN_IF_ERROR(CheckStatisticsPath(request_.save_statistics));
  }
  GANDEM_RETURN_IF_ERROR(MetricsSelfTest());
  const absl::Status opened = OpenAll();
  if (!opened.ok()) {
    // What has computed nothing leaves nothing.
    if (work_.has_value()) work_->Remove().IgnoreError();
    return opened;
  }
  EvaluateReport report;
  report.skipped = subject_.skipped;
  report.path = CardStem() + ".textproto";
  const absl::StatusOr<MetricCard> there = ReadMetricCard(report.path);
  report.was_there = there.ok();
  if (there.ok() && request_.save_statistics.empty()) {
    report.card = *there;
    GANDEM_RETURN_IF_ERROR(work_->Remove());
    return report;
  }
  GANDEM_RETURN_IF_ERROR(Extract());
  GANDEM_RETURN_IF_ERROR(Compute());
  GANDEM_RETURN_IF_ERROR(SaveStatistics());
  GANDEM_RETURN_IF_ERROR(WriteCard());
  TrimCache();
  GANDEM_RETURN_IF_ERROR(work_->Remove());
  report.card = card_;
  return report;
}

}  // namespace

absl::StatusOr<EvaluateReport> RunEvaluateCommand(
    const EvaluateRequest& request) {
  return EvaluateCommand(request).Run();
}

}  // namespace gandem
