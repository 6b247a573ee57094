// SPDX-License-Identifier: Apache-2.0
#include "extras/vit_features/gaussian_discrepancy.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "evaluation/metrics/check_features.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr double kSigma = 10;
constexpr double kScale = 1000;  // as in their code, for readability

// Rows per block: all pairs of 50,000 images a side would take 20 GB.
constexpr int64_t kPairRows = 1024;

absl::StatusOr<at::Tensor> UnitRows(absl::string_view what,
                                    const at::Tensor& features) {
  const at::Tensor features_ND = features.to(at::kDouble);
  const at::Tensor length_N = features_ND.norm(2, /*dim=*/1);
  const at::Tensor zero_N = length_N.eq(0);
  if (zero_N.any().item<bool>()) {
    return absl::DataLossError(absl::StrCat(
        what, " are all 0 in row ",
        zero_N.to(at::kByte).argmax().item<int64_t>(),
        ", which has no direction: is the network's file damaged?"));
  }
  return features_ND / length_N.unsqueeze(1);
}

// Mean of k(x, y) over all pairs. Rows have length 1, so |a - b|^2 = 2 - 2 a.b.
double MeanKernel(const at::Tensor& x_ND, const at::Tensor& y_MD) {
  double sum = 0;
  for (const at::Tensor& part_PD : x_ND.split(kPairRows)) {
    const at::Tensor squared_PM = 2 - 2 * part_PD.mm(y_MD.t());
    sum += (squared_PM / (-2 * kSigma * kSigma)).exp().sum().item<double>();
  }
  return sum / static_cast<double>(x_ND.size(0)) /
         static_cast<double>(y_MD.size(0));
}

}  // namespace

absl::StatusOr<double> GaussianDiscrepancy(const at::Tensor& reference_ND,
                                           const at::Tensor& generated_MD) {
  GANDEM_RETURN_IF_ERROR(
      CheckFeaturePair(reference_ND, generated_MD, /*min_rows=*/1));
  GANDEM_ASSIGN_OR_RETURN(const at::Tensor x_ND,
                          UnitRows("reference features", reference_ND));
  GANDEM_ASSIGN_OR_RETURN(const at::Tensor y_MD,
                          UnitRows("generated features", generated_MD));
  return kScale * (MeanKernel(x_ND, x_ND) + MeanKernel(y_MD, y_MD) -
                   2 * MeanKernel(x_ND, y_MD));
}

}  // namespace gandem
