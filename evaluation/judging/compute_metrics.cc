// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/compute_metrics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/faults.h"
#include "common/process/missing_extra.h"
#include "common/status.h"
#include "evaluation/judging/extra_metric.h"
#include "evaluation/metrics/check_features.h"
#include "evaluation/metrics/halving.h"
#include "evaluation/metrics/inception_score.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

// Distances of all pairs of 10,000 images a side take a minute on one core with
// an Inception's features.
constexpr int64_t kMaxPrecisionRecallImages = 10000;

// Papers compute FID with at least as many images: with fewer, the covariance
// of an Inception's features has no full rank.
constexpr int64_t kFewImages = 2048;

struct NamedMetric {
  absl::string_view name;
  bool MetricSet::*member;
  absl::string_view extra = "";  // "": in the core
};
constexpr NamedMetric kMetrics[] = {
    {"fid", &MetricSet::frechet},
    {"is", &MetricSet::inception_score},
    {"kid", &MetricSet::kernel_distance},
    {"prdc", &MetricSet::precision_recall},
    {"fid_infinity", &MetricSet::extrapolated, "fid_infinity"},
    {"cmmd", &MetricSet::clip_discrepancy, "vit_features"},
    {"lpips", &MetricSet::diversity, "lpips"},
    {"ppl", &MetricSet::path_length, "lpips"}};

// Returns at most kMaxPrecisionRecallImages rows, evenly spaced because a
// folder may be sorted by class.
at::Tensor EvenRows(const at::Tensor& values) {
  const int64_t rows = values.size(0);
  const int64_t count = std::min(rows, kMaxPrecisionRecallImages);
  if (count == rows) return values;
  const at::Tensor indices = torch::arange(count, at::kLong) * rows;
  return values.index_select(0, at::floor_divide(indices, count));
}

absl::StatusOr<Metric> DistanceMetric(const FeatureNet& net,
                                      const FrechetReference& reference,
                                      int64_t num_reference,
                                      const Moments& images) {
  GANDEM_ASSIGN_OR_RETURN(const double distance, reference.DistanceTo(images));
  Metric metric;
  metric.set_name(DistanceName(net));
  metric.set_value(distance);
  metric.set_num_images(images.count);
  metric.set_num_reference_images(num_reference);
  for (const ExtraMetric& extra : ExtraMetrics()) {
    // Without either number, the bias is unknown.
    if (extra.predicted_bias == nullptr ||
        (images.count == 0 && num_reference == 0)) {
      continue;
    }
    metric.set_predicted_bias(extra.predicted_bias(
        reference.eigenvalues(), images.count, num_reference));
  }
  return metric;
}

// State that the metrics of one evaluation share.
class Computation {
 public:
  Computation(const FeatureNet& net, const MetricOptions& options,
              std::vector<ExtraMetric> extras)
      : net_(net), options_(options), extras_(std::move(extras)) {}

  absl::Status ReadFeatures(const FeatureSide& images,
                            const std::optional<FeatureSide>& reference) {
    const MetricSet& metrics = options_.metrics;
    if (metrics.needs_reference_features()) {
      GANDEM_ASSIGN_OR_RETURN(reference_,
                              ReadSide(*reference, /*with_logits=*/false));
      GANDEM_RETURN_IF_ERROR(
          CheckVariance(kReferenceSide, net_.name, reference_.features_ND));
    }
    GANDEM_ASSIGN_OR_RETURN(images_, ReadSide(images, metrics.inception_score));
    // Distances of pairs need not vary.
    if (!metrics.takes_pairs()) {
      GANDEM_RETURN_IF_ERROR(
          CheckVariance(kJudgedSide, net_.name, images_.features_ND));
    }
    return absl::OkStatus();
  }

  // `reference_moments` is set if a metric needs it; it is decomposed once.
  absl::Status AddAll(const std::optional<Moments>& reference_moments) {
    const MetricSet& metrics = options_.metrics;
    std::optional<FrechetReference> decomposed;
    int64_t num_reference = 0;
    if (metrics.needs_moments()) {
      GANDEM_ASSIGN_OR_RETURN(decomposed,
                              FrechetReference::Create(*reference_moments));
      num_reference = reference_moments->count;
    }
    if (metrics.frechet) {
      GANDEM_RETURN_IF_ERROR(AddFrechet(*decomposed, num_reference));
    }
    if (metrics.inception_score) GANDEM_RETURN_IF_ERROR(AddInceptionScore());
    if (metrics.kernel_distance) GANDEM_RETURN_IF_ERROR(AddKernelDistance());
    if (metrics.precision_recall) GANDEM_RETURN_IF_ERROR(AddPrecisionRecall());
    for (const ExtraMetric& extra : extras_) {
      GANDEM_ASSIGN_OR_RETURN(
          *metrics_.emplace(metrics_.end()),
          extra.compute(
              {.net = net_,
               .images_ND = images_.features_ND,
               .reference_ND = reference_.features_ND,
               .reference = decomposed.has_value() ? &*decomposed : nullptr,
               .num_reference = num_reference}));
    }
    return absl::OkStatus();
  }

  std::vector<Metric> Take() { return std::move(metrics_); }

 private:
  absl::Status AddFrechet(const FrechetReference& reference,
                          int64_t num_reference) {
    GANDEM_ASSIGN_OR_RETURN(const Moments moments,
                            MomentsOf(images_.features_ND));
    GANDEM_ASSIGN_OR_RETURN(
        Metric metric, DistanceMetric(net_, reference, num_reference, moments));
    if (options_.halvings > 0 && moments.count >= kMinHalvingRows) {
      GANDEM_ASSIGN_OR_RETURN(
          const double sd,
          HalvingSd(moments.count, {.halvings = options_.halvings},
                    [&](const at::Tensor& rows_N) -> absl::StatusOr<double> {
                      GANDEM_ASSIGN_OR_RETURN(
                          const Moments half,
                          MomentsOfRows(images_.features_ND, rows_N));
                      return reference.DistanceTo(half);
                    }));
      metric.set_sd(sd);
      metric.set_sd_of(
          absl::StrCat(options_.halvings, " random halvings of the images"));
    }
    metrics_.push_back(std::move(metric));
    return absl::OkStatus();
  }

  absl::Status AddInceptionScore() {
    GANDEM_ASSIGN_OR_RETURN(
        const MeanAndSd score,
        InceptionScore(images_.logits_NK, {.num_splits = options_.splits}));
    Metric& metric = Add(MetricName("IS", net_), score.mean);
    metric.set_sd(score.sd);
    metric.set_sd_of(absl::StrCat(options_.splits, " splits"));
    return absl::OkStatus();
  }

  absl::Status AddKernelDistance() {
    const KernelDistanceOptions& options = options_.kernel;
    GANDEM_ASSIGN_OR_RETURN(
        const MeanAndSd distance,
        KernelDistance(reference_.features_ND, images_.features_ND, options));
    Metric& metric = Add(MetricName("KID", net_), distance.mean);
    metric.set_num_reference_images(reference_.features_ND.size(0));
    metric.set_sd(distance.sd);
    metric.set_sd_of(
        absl::StrCat(options.num_subsets, " subsets of ", options.subset_rows));
    return absl::OkStatus();
  }

  absl::Status AddPrecisionRecall() {
    const at::Tensor images_MD = EvenRows(images_.features_ND);
    const at::Tensor reference_ND = EvenRows(reference_.features_ND);
    GANDEM_ASSIGN_OR_RETURN(const PrecisionRecall result,
                            ComputePrecisionRecall(reference_ND, images_MD,
                                                   options_.precision_recall));
    const std::pair<absl::string_view, double> values[] = {
        {"precision", result.precision},
        {"recall", result.recall},
        {"density", result.density},
        {"coverage", result.coverage}};
    for (const auto& [name, value] : values) {
      Metric& metric = Add(MetricName(name, net_), value);
      metric.set_num_images(images_MD.size(0));
      metric.set_num_reference_images(reference_ND.size(0));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Features> ReadSide(const FeatureSide& side, bool with_logits) {
    return ReadAllFeatures(*side.store, net_, side.num_images, with_logits);
  }

  Metric& Add(std::string name, double value) {
    Metric& metric = metrics_.emplace_back();
    metric.set_name(std::move(name));
    metric.set_value(value);
    metric.set_num_images(images_.features_ND.size(0));
    return metric;
  }

  const FeatureNet& net_;
  const MetricOptions& options_;
  const std::vector<ExtraMetric> extras_;  // requested ones
  Features images_;
  Features reference_;
  std::vector<Metric> metrics_;
};

}  // namespace

absl::StatusOr<MetricSet> ParseMetrics(absl::string_view text) {
  MetricSet metrics;
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    const auto found = std::ranges::find(kMetrics, name, &NamedMetric::name);
    if (found == std::end(kMetrics)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", name, "' of --metric ", text, " is none of ",
          absl::StrJoin(kMetrics, ", ",
                        [](std::string* out, const NamedMetric& known) {
                          absl::StrAppend(out, known.name);
                        })));
    }
    metrics.*(found->member) = true;
  }
  if (metrics.takes_pairs() &&
      metrics != MetricSet{.diversity = !metrics.path_length,
                           .path_length = metrics.path_length}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--metric ", text,
        ": lpips and ppl need pairs of images of their own, so they cannot be "
        "combined with other metrics: run one command for each"));
  }
  return metrics;
}

std::string MetricSetText(const MetricSet& metrics) {
  std::vector<absl::string_view> names;
  for (const NamedMetric& metric : kMetrics) {
    if (metrics.*(metric.member)) names.push_back(metric.name);
  }
  return absl::StrJoin(names, "-");
}

absl::StatusOr<std::vector<ExtraMetric>> WantedExtraMetrics(
    const MetricSet& metrics, const std::vector<ExtraMetric>& built) {
  std::vector<ExtraMetric> wanted;
  for (const NamedMetric& metric : kMetrics) {
    if (metric.extra.empty() || !(metrics.*(metric.member))) continue;
    const auto found =
        std::ranges::find(built, metric.name, &ExtraMetric::name);
    if (found == built.end()) {
      return MissingExtraError(absl::StrCat("metric ", metric.name),
                               metric.extra);
    }
    wanted.push_back(*found);
  }
  return wanted;
}

std::string MetricName(absl::string_view metric, const FeatureNet& net) {
  return net.is_inception ? std::string(metric)
                          : absl::StrCat(metric, "(", net.name, ")");
}

absl::Status CheckNumImages(const MetricOptions& options, int64_t num_images,
                            int64_t num_reference) {
  const MetricSet& metrics = options.metrics;
  Faults faults("too few images");
  const auto check = [&](bool wanted, absl::string_view metric,
                         absl::string_view what, int64_t least) {
    if (!wanted) return;
    for (const auto& [count, side] :
         {std::pair(num_images, "images to evaluate"),
          std::pair(num_reference, "reference images")}) {
      if (count == 0 || count >= least) continue;
      faults.Add(absl::StrCat(metric, what, " needs ", least,
                              " or more, but there are ", count, " ", side));
    }
  };
  check(metrics.frechet, "fid", "", 2);
  check(metrics.extrapolated, "fid_infinity", "", 2);
  GANDEM_ASSIGN_OR_RETURN(const std::vector<ExtraMetric> extras,
                          WantedExtraMetrics(metrics));
  for (const ExtraMetric& extra : extras) {
    if (extra.too_few == nullptr) continue;
    std::string fault = extra.too_few(num_images);
    if (!fault.empty()) faults.Add(std::move(fault));
  }
  check(metrics.kernel_distance, "kid", " in subsets (--kid_subset)",
        options.kernel.subset_rows);
  const PrecisionRecallOptions& neighbors = options.precision_recall;
  check(metrics.precision_recall, "prdc", " (one more than --prdc_k)",
        1 + std::max(neighbors.neighbors, neighbors.density_neighbors));
  if (metrics.inception_score && num_images < options.splits) {
    faults.Add(absl::StrCat("is in ", options.splits,
                            " splits (--splits) needs as many images or more, "
                            "but there are ",
                            num_images, " images to evaluate"));
  }
  return faults.ToStatus();
}

absl::Status CheckNetwork(const MetricSet& metrics, const FeatureNet& net) {
  if (metrics.clip_discrepancy && net.family != kClipFamily) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cmmd needs features of CLIP, and ", net.name,
        " is another network: give --features clip:FILE, the weights of CLIP's "
        "ViT-L/14 of 336 pixels, or leave out `cmmd`"));
  }
  const bool compares_pairs = net.family == kLpipsFamily;
  if (metrics.takes_pairs() != compares_pairs) {
    return absl::InvalidArgumentError(
        compares_pairs
            ? "the weights are of LPIPS, which only lpips and ppl use: give "
              "--metric lpips, or other --features"
            : absl::StrCat(MetricSetText(metrics), " needs LPIPS, and ",
                           net.name,
                           " is another network: give LPIPS weights with "
                           "--features lpips:FILE"));
  }
  if (!metrics.inception_score || net.num_classes > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("an inception score needs a network with classes, and ",
                   net.name, " has none: leave out `is`"));
}

absl::StatusOr<std::vector<Metric>> ComputeMetrics(
    const FeatureNet& net, const FeatureSide& images,
    const std::optional<FeatureSide>& reference,
    const std::optional<Moments>& reference_moments,
    const MetricOptions& options) {
  return CatchTorchOr([&]() -> absl::StatusOr<std::vector<Metric>> {
    const torch::NoGradGuard no_grad;
    at::set_num_threads(1);
    const MetricSet& metrics = options.metrics;
    GANDEM_RETURN_IF_ERROR(CheckNetwork(metrics, net));
    GANDEM_ASSIGN_OR_RETURN(std::vector<ExtraMetric> extras,
                            WantedExtraMetrics(metrics));
    Computation computation(net, options, std::move(extras));
    if (reference_moments.has_value()) {
      GANDEM_RETURN_IF_ERROR(
          CheckVariance(kReferenceSide, net.name, *reference_moments));
    }
    GANDEM_RETURN_IF_ERROR(computation.ReadFeatures(images, reference));
    GANDEM_RETURN_IF_ERROR(computation.AddAll(reference_moments));
    return computation.Take();
  });
}

absl::StatusOr<Metric> DistanceOfMoments(const FeatureNet& net,
                                         const Moments& images,
                                         const Moments& reference) {
  return CatchTorchOr([&]() -> absl::StatusOr<Metric> {
    const torch::NoGradGuard no_grad;
    at::set_num_threads(1);
    GANDEM_RETURN_IF_ERROR(CheckVariance(kReferenceSide, net.name, reference));
    GANDEM_RETURN_IF_ERROR(CheckVariance(kJudgedSide, net.name, images));
    GANDEM_ASSIGN_OR_RETURN(const FrechetReference decomposed,
                            FrechetReference::Create(reference));
    return DistanceMetric(net, decomposed, reference.count, images);
  });
}

void WarnOfFewImages(MetricCard& card) {
  for (const auto& [images, what] :
       {std::pair(&card.images(), "the evaluated set"),
        std::pair(&card.reference(), kReferenceSide)}) {
    const int64_t count = images->num_images();
    if (count == 0 || count >= kFewImages) continue;
    card.add_warnings(absl::StrCat(
        what, " has only ", count, " images, fewer than ", kFewImages,
        ", which adds to the distance: compare it only with distances of as "
        "many images"));
  }
}

void WarnOfEqualSides(MetricCard& card) {
  const std::string& sha256 = card.images().sha256();
  if (sha256.empty() || sha256 != card.reference().sha256()) return;
  card.add_warnings(absl::StrCat(
      "the evaluated images and the reference are the same (sha256 ",
      sha256.substr(0, 12),
      "): a distance of 0 says nothing about the images. Name another "
      "--reference"));
}

}  // namespace gandem
