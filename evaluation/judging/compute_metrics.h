// SPDX-License-Identifier: Apache-2.0
//
// From two stores of features to the figures of a metric card. All in float64
// on one thread: the same bits for any number of workers or cores.
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

  // Of LPIPS distances of pairs rather than of features of images.
  bool takes_pairs() const { return diversity || path_length; }
  bool needs_reference() const {
    return needs_moments() || needs_reference_features();
  }
  // The reference's mean and covariance.
  bool needs_moments() const { return frechet || extrapolated; }
  // Rather than only their mean and covariance.
  bool needs_reference_features() const {
    return kernel_distance || precision_recall || clip_discrepancy;
  }
  bool operator==(const MetricSet&) const = default;
};

// "fid,is,kid,prdc,fid_infinity,cmmd" in any order; "lpips" or "ppl"
// by itself.
//   INVALID_ARGUMENT  another name, or none; lists them. What goes by itself
//                     beside others.
absl::StatusOr<MetricSet> ParseMetrics(absl::string_view text);
// In one order, with '-' between.
std::string MetricSetText(const MetricSet& metrics);

struct MetricOptions {
  MetricSet metrics;
  int64_t splits = 10;    // of the inception score
  int64_t halvings = 20;  // for the sd of the distance; 0: none
  KernelDistanceOptions kernel = {};
  PrecisionRecallOptions precision_recall = {};
};

// Whether the metrics can be computed of so many images, before hours go into
// their features. `num_reference` 0: there are only statistics, or nothing.
//   INVALID_ARGUMENT  lists what has too few.
//   FAILED_PRECONDITION  this build lacks the extra of a metric.
absl::Status CheckNumImages(const MetricOptions& options, int64_t num_images,
                            int64_t num_reference);
// Whether they can be computed with this network.
//   INVALID_ARGUMENT  an inception score of a network without classes, cmmd of
//                     one that is no CLIP, or metrics of pairs of one that is
//                     no LPIPS, and the other way round.
absl::Status CheckNetwork(const MetricSet& metrics, const FeatureNet& net);

// The two sides' names in messages.
inline constexpr char kJudgedSide[] = "the images to judge";
inline constexpr char kReferenceSide[] = "the reference";

struct FeatureSide {
  const FeatureStore* store = nullptr;
  int64_t num_images = 0;
};

// `reference` may be null where no metric needs features of it, and
// `reference_moments` where none needs these.
//   INVALID_ARGUMENT  too few images, or no logits for an inception score.
//   DATA_LOSS         the features of a side do not vary, or have NaN or
//                     infinity: whatever the figures were, they say nothing.
//                     Names the side and the network.
absl::StatusOr<std::vector<Metric>> ComputeMetrics(
    const FeatureNet& net, const FeatureSide& images,
    const std::optional<FeatureSide>& reference,
    const std::optional<Moments>& reference_moments,
    const MetricOptions& options);

// The Frechet distance of two moments with its bias: what there is without the
// features. Errors of FrechetReference, and as above.
absl::StatusOr<Metric> DistanceOfMoments(const FeatureNet& net,
                                         const Moments& images,
                                         const Moments& reference);

// Adds a warning where the images or the reference of a card with a Frechet
// distance are so few that it depends on their number.
void WarnOfFewImages(MetricCard& card);
// Adds a warning where the card's two sides are the same images.
void WarnOfEqualSides(MetricCard& card);

}  // namespace gandem
