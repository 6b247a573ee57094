// SPDX-License-Identifier: Apache-2.0
#include "extras/lpips/perceptual_metrics.h"

#include <cmath>

#include "absl/status/status.h"
#include "common/status.h"
#include "evaluation/images/generated_images.h"
#include "models/torch.h"

namespace gandem {
namespace {

absl::Status CheckDistances(const at::Tensor& distances_N1) {
  if (distances_N1.scalar_type() == at::kDouble && distances_N1.dim() == 2 &&
      distances_N1.size(0) >= 2 && distances_N1.size(1) == 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "distances of pairs are float64 [N, 1] with two rows or more");
}

}  // namespace

absl::StatusOr<MeanAndSd> MeanDistance(const at::Tensor& distances_N1) {
  GANDEM_RETURN_IF_ERROR(CheckDistances(distances_N1));
  const auto count = static_cast<double>(distances_N1.size(0));
  return MeanAndSd{.mean = distances_N1.mean().item<double>(),
                   .sd = distances_N1.std().item<double>() / std::sqrt(count)};
}

absl::StatusOr<PathLength> PerceptualPathLength(
    const at::Tensor& distances_N1) {
  GANDEM_RETURN_IF_ERROR(CheckDistances(distances_N1));
  const at::Tensor sorted_N1 =
      std::get<0>((distances_N1 / (kPathEpsilon * kPathEpsilon)).sort(0));
  // As numpy.percentile with method="lower" and method="higher".
  const double last = static_cast<double>(sorted_N1.size(0) - 1);
  const auto first_kept = static_cast<int64_t>(std::floor(0.01 * last));
  const auto last_kept = static_cast<int64_t>(std::ceil(0.99 * last));
  const at::Tensor kept_N1 =
      sorted_N1.narrow(0, first_kept, last_kept - first_kept + 1);
  GANDEM_ASSIGN_OR_RETURN(const MeanAndSd mean, MeanDistance(kept_N1));
  return PathLength{.mean = mean.mean, .sd = mean.sd, .kept = kept_N1.size(0)};
}

}  // namespace gandem
