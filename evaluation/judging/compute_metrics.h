// SPDX-License-Identifier: Apache-2.0
//
// Metrics of a metric card from the features of both sides. They are computed
// in float64 on one thread, so the bits are the same for any number of workers
// or cores.
//
// Thread safety: one compute thread. Errors: Status only.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "evaluation/features/feature_store.h"
#include "evaluation/metrics/frechet_distance.h"
#include "evaluation/metrics/kernel_distance.h"
#include "evaluation/metrics/precision_recall.h"
#include "evaluation/metrics/statistics_file.h"
#include "proto/evaluation.pb.h"

namespace gandem {

struct MetricSet {
  bool frechet = false;           // "fid"
  bool inception_score = false;   // "is"
  bool kernel_distance = false;   // "kid"
  bool precision_recall = false;  // "prdc"
  bool extrapolated = false;      // "fid_infinity"
  bool clip_discrepancy = false;  // "cmmd"
  bool diversity = false;         // "lpips"
  bool path_length = false;       // "ppl"

  // Needs LPIPS distances of pairs instead of features of images.
  bool takes_pairs() const { return diversity || path_length; }
  bool needs_reference() const {
    return needs_moments() || needs_reference_features();
  }
  // Needs the mean and covariance of the reference.
  bool needs_moments() const { return frechet || extrapolated; }
  // Needs the features of the reference themselves.
  bool needs_reference_features() const {
    return kernel_distance || precision_recall || clip_discrepancy;
  }
  bool operator==(const MetricSet&) const = default;
};

// Parses "fid,is,kid,prdc,fid_infinity,cmmd" in any order, or "lpips" or "ppl"
// alone.
//   INVALID_ARGUMENT  another name, or none; lists them. lpips or ppl beside
//                     other metrics.
absl::StatusOr<MetricSet> ParseMetrics(absl::string_view text);
// The names in a fixed order, joined by '-'.
std::string MetricSetText(const MetricSet& metrics);

struct MetricOptions {
  MetricSet metrics;
  int64_t splits = 10;    // for the Inception Score
  int64_t halvings = 20;  // for the sd of the distance; 0: none
  KernelDistanceOptions kernel = {};
  PrecisionRecallOptions precision_recall = {};
};

// Checks that there are enough images for the metrics, before hours go into
// their features. `num_reference` 0: there are only statistics, or nothing.
//   INVALID_ARGUMENT  lists the metrics with too few images.
//   FAILED_PRECONDITION  this build lacks the extra of a metric.
absl::Status CheckNumImages(const MetricOptions& options, int64_t num_images,
                            int64_t num_reference);
// Checks that the metrics can be computed with this network.
//   INVALID_ARGUMENT  an Inception Score without classes, cmmd without CLIP,
//                     metrics of pairs without LPIPS, or others with LPIPS.
absl::Status CheckNetwork(const MetricSet& metrics, const FeatureNet& net);

// Names of the two sides in messages.
inline constexpr char kJudgedSide[] = "the images to evaluate";
inline constexpr char kReferenceSide[] = "the reference";

struct FeatureSide {
  const FeatureStore* store = nullptr;
  int64_t num_images = 0;
};

// `reference` may be null if no metric needs its features, and
// `reference_moments` if no metric needs its moments.
//   INVALID_ARGUMENT  too few images, or no logits for an inception score.
//   DATA_LOSS         the features of a side do not vary, or have NaN or
//                     infinity, so the metrics would mean nothing. Names the
//                     side and the network.
absl::StatusOr<std::vector<Metric>> ComputeMetrics(
    const FeatureNet& net, const FeatureSide& images,
    const std::optional<FeatureSide>& reference,
    const std::optional<Moments>& reference_moments,
    const MetricOptions& options);

// The Frechet distance of two moments with its predicted bias, which needs no
// features. Errors of FrechetReference and ComputeMetrics.
absl::StatusOr<Metric> DistanceOfMoments(const FeatureNet& net,
                                         const Moments& images,
                                         const Moments& reference);

// Adds a warning if a side of a card with a Frechet distance has so few images
// that the distance depends on their number.
void WarnOfFewImages(MetricCard& card);
// Adds a warning if the card's two sides are the same images.
void WarnOfEqualSides(MetricCard& card);

}  // namespace gandem
