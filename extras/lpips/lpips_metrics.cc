// SPDX-License-Identifier: Apache-2.0
//
// This extra adds weights of LPIPS, `lpips` and `ppl` to the core.
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/features/weights_family.h"
#include "evaluation/judging/extra_metric.h"
#include "extras/lpips/lpips_extractor.h"
#include "extras/lpips/lpips_network.h"
#include "extras/lpips/perceptual_metrics.h"
#include "models/torch.h"

namespace gandem {
namespace {

absl::StatusOr<Metric> Diversity(const MetricInput& input) {
  GANDEM_ASSIGN_OR_RETURN(const MeanAndSd distance,
                          MeanDistance(input.images_ND.to(at::kDouble)));
  Metric metric;
  metric.set_name(MetricName("LPIPS", input.net));
  metric.set_value(distance.mean);
  metric.set_num_images(2 * input.images_ND.size(0));
  metric.set_sd(distance.sd);
  metric.set_sd_of("the mean over the pairs");
  return metric;
}

absl::StatusOr<Metric> MeanPathLength(const MetricInput& input) {
  GANDEM_ASSIGN_OR_RETURN(
      const PathLength length,
      PerceptualPathLength(input.images_ND.to(at::kDouble)));
  Metric metric;
  metric.set_name(MetricName("PPL", input.net));
  metric.set_value(length.mean);
  metric.set_num_images(input.images_ND.size(0));
  metric.set_sd(length.sd);
  metric.set_sd_of(absl::StrCat("the mean over the ", length.kept,
                                " samples between the percentiles"));
  return metric;
}

}  // namespace

WeightsFamily LpipsWeights() {
  return {.name = kLpipsFamily,
          .what = "LPIPS",
          .holds = LpipsNetwork::Holds,
          .make = MakeLpipsExtractor};
}

ExtraMetric LpipsMetric() { return {.name = "lpips", .compute = Diversity}; }

ExtraMetric PathLengthMetric() {
  return {.name = "ppl", .compute = MeanPathLength};
}

}  // namespace gandem
