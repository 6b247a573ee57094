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
#include "common/files/sha256.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/version.h"
#include "evaluation/features/extract_features.h"
#include "evaluation/features/extraction_progress.h"
#include "evaluation/features/train_features.h"
#include "evaluation/images/image_set.h"
#include "evaluation/judging/extra_metric.h"
#include "evaluation/judging/statistics_subject.h"
#include "evaluation/judging/subject_images.h"
#include "evaluation/kept/held_folder.h"
#include "evaluation/metrics/statistics_file.h"
#include "models/torch.h"
#include "training/compute/devices.h"

namespace gandem {
namespace {

// Digits of a SHA-256 in a file name; 12 make collisions unlikely.
constexpr size_t kKeyDigits = 12;

// Version of the rules for gamma and alpha when reading files. Cached features
// of another version are not reused.
constexpr char kReading[] = " plain";

std::string ShortKey(absl::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return hash.Finish().substr(0, kKeyDigits);
}

// The evaluated images or the reference, as features of images or as moments of
// a statistics file.
struct Side {
  std::optional<HeldFolder> folder;
  std::optional<FeatureStore> store;
  std::optional<Moments> moments;
};

class EvaluateCommand {
 public:
  explicit EvaluateCommand(const EvaluateRequest& request)
      : request_(request), started_(absl::Now()) {}

  absl::StatusOr<EvaluateReport> Run();

 private:
  // Opens the images and the network, and checks their compatibility.
  absl::Status OpenAll();
  absl::Status KeepSubject();
  absl::Status OpenReference();
  absl::Status OpenImages();      // if images are evaluated
  absl::Status OpenStatistics();  // if a statistics file is evaluated
  absl::Status OpenNetwork(const ImageShape& shape);
  absl::Status UseStatistics(const std::string& name,
                             const FeatureStatistics& statistics, Side& side);
  absl::Status OpenStore(const ImagesCard& card, Side& side);
  std::string FeaturesFolder() const {
    return request_.feature_cache_gib == 0 ? work_->path()
                                           : DefaultFeatureCache() + "/images";
  }
  void TrimCache();
  MetricOptions OptionsOfMetrics() const {
    return MetricOptionsOf(request_, metrics_);
  }
  std::string CardStem() const;
  absl::Status Extract();
  absl::Status Compute();
  absl::Status SaveStatistics();
  absl::Status WriteCard();

  const EvaluateRequest request_;
  const absl::Time started_;
  MetricSet metrics_;
  Subject subject_;
  Reference reference_;  // empty if no metric needs it
  std::string output_;
  FeatureNet net_;
  ExtractOptions extract_;
  int64_t num_images_ = 0;  // number of evaluated images
  MetricCard card_;
  std::optional<HeldFolder> work_;
  Side judged_;
  Side compared_;
};

// Protects the checkpoint's files from pruning during the evaluation.
absl::Status EvaluateCommand::KeepSubject() {
  GANDEM_ASSIGN_OR_RETURN(
      work_, HeldFolder::Hold(output_ + "/work",
                              ShortKey(absl::StrCat(subject_.name, " ",
                                                    subject_.manifest))));
  if (!subject_.images.has_generated()) return absl::OkStatus();
  // Must precede any read of the checkpoint, which may be pruned at any time.
  ImagesSpec::Generated& generated = *subject_.images.mutable_generated();
  GANDEM_ASSIGN_OR_RETURN(
      *generated.mutable_checkpoint(),
      KeepCheckpoint(generated.checkpoint(), work_->path()));
  return absl::OkStatus();
}

absl::Status EvaluateCommand::OpenReference() {
  if (!metrics_.needs_reference()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(reference_,
                          FindReference(request_.reference, subject_));
  if (reference_.statistics.has_value()) {
    GANDEM_RETURN_IF_ERROR(CheckReferenceStatistics(reference_.name, metrics_));
    GANDEM_ASSIGN_OR_RETURN(
        *card_.mutable_reference(),
        CardOfStatistics(reference_.name, *reference_.statistics));
    return absl::OkStatus();
  }
  GANDEM_ASSIGN_OR_RETURN(const auto images, OpenImageSet(*reference_.images));
  KeepShape(*images, *reference_.images);
  GANDEM_ASSIGN_OR_RETURN(*card_.mutable_reference(), images->Describe());
  card_.mutable_reference()->set_name(reference_.name);
  card_.mutable_reference()->set_num_images(images->size());
  return absl::OkStatus();
}

absl::Status EvaluateCommand::OpenNetwork(const ImageShape& shape) {
  const NetworkFile named = ParseNetworkFile(request_.features);
  GANDEM_ASSIGN_OR_RETURN(
      extract_.network,
      FindNetwork(named.path, subject_, reference_, request_.say));
  ExtractorOptions& options = extract_.extractor;
  options = {
      .image_shape = shape, .family = named.family, .dims = request_.dims};
  GANDEM_ASSIGN_OR_RETURN(options.resize, InputResizeOf(request_));
  GANDEM_ASSIGN_OR_RETURN(options.compute.device,
                          ParseDevice(request_.subject.device));
  GANDEM_ASSIGN_OR_RETURN(options.compute.precision,
                          ParsePrecision(request_.precision));
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<FeatureExtractor> extractor,
                          OpenFeatureExtractor(extract_.network, options));
  net_ = extractor->net();
  extract_.network_sha256 = net_.sha256;
  return CheckNetwork(metrics_, net_);
}

absl::Status EvaluateCommand::UseStatistics(const std::string& name,
                                            const FeatureStatistics& statistics,
                                            Side& side) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> assumed,
                          CheckStatisticsOf(name, statistics, net_));
  for (const std::string& warning : assumed) card_.add_warnings(warning);
  side.moments = statistics.moments;
  return absl::OkStatus();
}

// Opens the feature folder, whose name is a hash of all inputs of the features.
absl::Status EvaluateCommand::OpenStore(const ImagesCard& card, Side& side) {
  const std::string key =
      absl::StrCat(card.sha256().substr(0, kKeyDigits), "-",
                   ShortKey(absl::StrCat(net_.sha256, " ", net_.resize,
                                         net_.part, net_.compute, kReading)));
  GANDEM_ASSIGN_OR_RETURN(side.folder, HeldFolder::Hold(FeaturesFolder(), key));
  side.store.emplace(side.folder->path());
  return absl::OkStatus();
}

// Two statistics files need no network. One statistics file is assumed to come
// from the network of the images to compare.
absl::Status EvaluateCommand::OpenStatistics() {
  const FeatureStatistics& statistics = *subject_.statistics;
  GANDEM_RETURN_IF_ERROR(CheckStatisticsRequest(request_, metrics_));
  GANDEM_RETURN_IF_ERROR(OpenReference());
  GANDEM_ASSIGN_OR_RETURN(*card_.mutable_images(),
                          CardOfStatistics(subject_.name, statistics));
  if (reference_.statistics.has_value() && request_.features.empty()) {
    GANDEM_ASSIGN_OR_RETURN(const auto resize, InputResizeOf(request_));
    net_ = NetOfStatistics(statistics, *reference_.statistics, resize);
  } else if (reference_.statistics.has_value()) {
    GANDEM_RETURN_IF_ERROR(OpenNetwork(ExtractorOptions().image_shape));
  } else {
    const ImagesCard& images = card_.reference();
    GANDEM_RETURN_IF_ERROR(OpenNetwork({.channels = images.channels(),
                                        .height = images.height(),
                                        .width = images.width()}));
  }
  num_images_ = statistics.moments.count;
  return UseStatistics(subject_.name, statistics, judged_);
}

absl::Status EvaluateCommand::OpenImages() {
  GANDEM_RETURN_IF_ERROR(OpenReference());
  GANDEM_ASSIGN_OR_RETURN(const std::unique_ptr<ImageSet> source,
                          OpenSubjectImages(request_, reference_, subject_));
  GANDEM_ASSIGN_OR_RETURN(num_images_, NumToJudge(request_, subject_, *source));
  GANDEM_RETURN_IF_ERROR(CheckNumImages(OptionsOfMetrics(), num_images_,
                                        card_.reference().num_images()));
  GANDEM_ASSIGN_OR_RETURN(*card_.mutable_images(), source->Describe());
  card_.mutable_images()->set_name(subject_.name);
  card_.mutable_images()->set_num_images(num_images_);
  if (reference_.images.has_value()) {
    GANDEM_RETURN_IF_ERROR(
        CheckSizes(request_, card_.images(), card_.reference()));
  }
  GANDEM_RETURN_IF_ERROR(OpenNetwork(source->shape()));
  // The card's hash includes the resizing and the selection of images.
  return OpenStore(card_.images(), judged_);
}

// Detects all invalid requests before the first feature is computed.
absl::Status EvaluateCommand::OpenAll() {
  GANDEM_ASSIGN_OR_RETURN(subject_, FindSubject(request_.subject));
  output_ = request_.output.empty() ? subject_.output : request_.output;
  GANDEM_RETURN_IF_ERROR(CreateDirectories(output_));
  GANDEM_RETURN_IF_ERROR(KeepSubject());
  for (const std::string& skipped : subject_.skipped) {
    card_.add_warnings(skipped);
  }
  GANDEM_RETURN_IF_ERROR(subject_.statistics.has_value() ? OpenStatistics()
                                                         : OpenImages());
  FeaturesCard& features = *card_.mutable_features();
  features.set_network(net_.name);
  features.set_sha256(net_.sha256);
  features.set_dim(net_.feature_dim);
  features.set_num_classes(net_.num_classes);
  features.set_resize(net_.resize);
  features.set_compute(net_.compute);
  if (reference_.images.has_value()) {
    return OpenStore(card_.reference(), compared_);
  }
  if (!reference_.statistics.has_value()) return absl::OkStatus();
  return UseStatistics(reference_.name, *reference_.statistics, compared_);
}

std::string EvaluateCommand::CardStem() const {
  return absl::StrCat(
      output_, "/", subject_.stem, "-", MetricSetText(metrics_), "-",
      ShortKey(absl::StrCat(
          MetricSetText(metrics_), " ", num_images_, " ", request_.splits, " ",
          request_.halvings, " ", request_.kernel.num_subsets, " ",
          request_.kernel.subset_rows, " ", request_.kernel.degree, " ",
          request_.neighbors.value_or(0), " ", card_.images().sha256(), " ",
          card_.reference().sha256(), " ", card_.reference().num_images(), " ",
          net_.sha256, " ", net_.resize, net_.part, net_.compute)));
}

absl::Status EvaluateCommand::Extract() {
  std::vector<ExtractWork> work;
  if (compared_.store.has_value()) {
    work.push_back({.store = &*compared_.store,
                    .images = *reference_.images,
                    .num_images = card_.reference().num_images(),
                    .side = kReferenceSide});
  }
  if (judged_.store.has_value()) {
    work.push_back({.store = &*judged_.store,
                    .images = subject_.images,
                    .num_images = num_images_,
                    .side = kJudgedSide});
  }
  TrimCache();
  int64_t num_images = 0;
  for (const ExtractWork& part : work) num_images += part.num_images;
  ExtractionProgress progress(num_images, request_.say);
  extract_.workers = request_.workers.value_or(DefaultWorkers(num_images));
  extract_.progress = [&](int64_t present) {
    progress.Add(present, absl::Now());
  };
  return ExtractFeatures(work, extract_);
}

absl::Status EvaluateCommand::Compute() {
  if (compared_.store.has_value() && metrics_.needs_moments()) {
    GANDEM_ASSIGN_OR_RETURN(
        compared_.moments,
        ReadMoments(*compared_.store, net_, card_.reference().num_images()));
  }
  if (judged_.moments.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(
        *card_.add_metrics(),
        DistanceOfMoments(net_, *judged_.moments, *compared_.moments));
  } else {
    std::optional<FeatureSide> reference;
    if (compared_.store.has_value()) {
      reference = FeatureSide{.store = &*compared_.store,
                              .num_images = card_.reference().num_images()};
    }
    GANDEM_ASSIGN_OR_RETURN(
        const std::vector<Metric> metrics,
        ComputeMetrics(net_,
                       {.store = &*judged_.store, .num_images = num_images_},
                       reference, compared_.moments, OptionsOfMetrics()));
    for (const Metric& metric : metrics) *card_.add_metrics() = metric;
  }
  GANDEM_ASSIGN_OR_RETURN(const std::vector<ExtraMetric> extras,
                          WantedExtraMetrics(metrics_));
  for (const ExtraMetric& extra : extras) {
    if (extra.warn != nullptr) extra.warn(num_images_, net_.feature_dim, card_);
  }
  if (metrics_.frechet) WarnOfFewImages(card_);
  WarnOfEqualSides(card_);
  return absl::OkStatus();
}

absl::Status EvaluateCommand::SaveStatistics() {
  const std::string& path = request_.save_statistics;
  if (path.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(const StatisticsFormat format,
                          StatisticsFormatOf(path));
  GANDEM_ASSIGN_OR_RETURN(Moments moments,
                          ReadMoments(*judged_.store, net_, num_images_));
  return WriteStatistics(path,
                         {.moments = std::move(moments),
                          .net_name = net_.name,
                          .net_sha256 = net_.sha256,
                          .resize = net_.resize,
                          .reference_name = card_.images().name(),
                          .reference_split = card_.images().split(),
                          .reference_hash = card_.images().sha256()},
                         format);
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

// Only prints a failure, which does not affect the card.
void EvaluateCommand::TrimCache() {
  if (request_.feature_cache_gib == 0) return;
  const absl::Status trimmed =
      TrimFolders(FeaturesFolder(), request_.feature_cache_gib << 30);
  if (!trimmed.ok() && request_.say) {
    request_.say(absl::StrCat("cannot trim the feature cache '",
                              FeaturesFolder(), "': ", trimmed.message()));
  }
}

absl::StatusOr<EvaluateReport> EvaluateCommand::Run() {
  at::set_num_threads(1);
  GANDEM_RETURN_IF_ERROR(CheckEvaluateRequest(request_));
  GANDEM_ASSIGN_OR_RETURN(metrics_, ParseMetrics(request_.metrics));
  if (!request_.save_statistics.empty()) {
    GANDEM_RETURN_IF_ERROR(CheckStatisticsPath(request_.save_statistics));
  }
  const absl::Status opened = OpenAll();
  if (!opened.ok()) {
    // No features exist yet, so there is nothing to resume.
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
