// SPDX-License-Identifier: Apache-2.0
//
// This extra adds the metric `fid_infinity` to the core, and `predicted_bias`
// to every Frechet distance.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status.h"
#include "evaluation/judging/extra_metric.h"
#include "extras/fid_infinity/extrapolated_distance.h"
#include "extras/fid_infinity/sampling_bias.h"

namespace gandem {
namespace {

absl::StatusOr<Metric> Extrapolated(const MetricInput& input) {
  GANDEM_ASSIGN_OR_RETURN(
      const double distance,
      ExtrapolatedDistance(*input.reference, input.images_ND));
  Metric metric;
  metric.set_name(absl::StrCat(DistanceName(input.net), "-infinity"));
  metric.set_value(distance);
  metric.set_num_images(input.images_ND.size(0));
  metric.set_num_reference_images(input.num_reference);
  return metric;
}

std::string TooFewToExtrapolate(int64_t num_images) {
  if (num_images >= kLeastToExtrapolate) return "";
  return absl::StrCat("fid_infinity needs ", kLeastToExtrapolate,
                      " images to draw its subsets from, but there are only ",
                      num_images);
}

// Distances are linear in 1/N only for subsets of more images than the features
// have dimensions.
void WarnOfShortLine(int64_t num_images, int64_t feature_dim,
                     MetricCard& card) {
  const int64_t smallest = ExtrapolationSizes(num_images).front();
  if (smallest >= feature_dim) return;
  card.add_warnings(absl::StrFormat(
      "fid_infinity begins with subsets of %d images, but features have %d "
      "dimensions: distances of smaller subsets are not linear in 1/N; "
      "evaluate "
      "%d images or more",
      smallest, feature_dim, 10 * feature_dim));
}

double BiasOfSampledReference(std::span<const double> eigenvalues,
                              int64_t num_images, int64_t num_reference) {
  return PredictedSamplingBias(eigenvalues, num_images, num_reference,
                               /*rows=*/num_reference);
}

}  // namespace

ExtraMetric FidInfinityMetric() {
  return {.name = "fid_infinity",
          .compute = Extrapolated,
          .too_few = TooFewToExtrapolate,
          .warn = WarnOfShortLine,
          .predicted_bias = BiasOfSampledReference};
}

}  // namespace gandem
