// SPDX-License-Identifier: Apache-2.0
//
// This extra adds weights of CLIP and DINOv2, and `cmmd`, to the core.
#include <utility>

#include "common/status.h"
#include "evaluation/features/weights_family.h"
#include "evaluation/judging/extra_metric.h"
#include "extras/vit_features/gaussian_discrepancy.h"
#include "extras/vit_features/vit_extractor.h"

namespace gandem {
namespace {

template <VitFamily kFamily>
WeightsFamily WeightsOf(absl::string_view name) {
  return {.name = name,
          .what = "a vision transformer",
          .holds =
              [](const std::vector<NamedTensor>& tensors) {
                return VitFamilyOf(tensors) == kFamily;
              },
          .make =
              [](std::vector<NamedTensor> tensors, const std::string& sha256,
                 const ExtractorOptions& options) {
                return MakeVitExtractor(kFamily, std::move(tensors), sha256,
                                        options.compute);
              }};
}

absl::StatusOr<Metric> Cmmd(const MetricInput& input) {
  GANDEM_ASSIGN_OR_RETURN(
      const double distance,
      GaussianDiscrepancy(input.reference_ND, input.images_ND));
  Metric metric;
  metric.set_name(MetricName("CMMD", input.net));
  metric.set_value(distance);
  metric.set_num_images(input.images_ND.size(0));
  metric.set_num_reference_images(input.reference_ND.size(0));
  return metric;
}

}  // namespace

WeightsFamily ClipWeights() { return WeightsOf<VitFamily::kClip>(kClipFamily); }

WeightsFamily Dinov2Weights() {
  return WeightsOf<VitFamily::kDinov2>(kDinov2Family);
}

ExtraMetric CmmdMetric() { return {.name = "cmmd", .compute = Cmmd}; }

}  // namespace gandem
