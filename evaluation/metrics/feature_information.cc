// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/feature_information.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/metrics/check_features.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Fraction of the largest eigenvalue: 1e-5 of the largest standard deviation,
// beyond what float32 rounds.
constexpr double kZeroEigenvalue = 1e-10;
// Of the squared length of the features: 16 units in the last place of float32.
constexpr double kZeroVariance = 1e-12;

// `variance` and `square` are sums over the dimensions, the latter of a square
// that tells how large the features are.
absl::Status CheckSums(absl::string_view side, absl::string_view network,
                       double variance, double square) {
  if (variance > kZeroVariance * square) return absl::OkStatus();
  if (!std::isfinite(variance) || !std::isfinite(square)) {
    return absl::DataLossError(absl::StrCat(
        side, ": the features of ", network,
        " have NaN or infinity. Is the network's file damaged, or does it want "
        "other images? Name another one with --features"));
  }
  return absl::DataLossError(absl::StrCat(
      side, ": ", network,
      " gives all images the same features, so no figure of them says "
      "anything. Look at the images: where they differ, the network's file is "
      "damaged or wants other images, and --features names another one"));
}

}  // namespace

absl::StatusOr<FeatureInformation> InformationOf(const Moments& moments) {
  const at::Tensor eigenvalues =
      moments.root_ND.defined()
          ? at::linalg_svdvals(moments.root_ND).square()
          : at::linalg_eigvalsh(moments.covariance_DD).clamp_min(0);
  const double largest = eigenvalues.max().item<double>();
  if (!(largest > 0)) {
    return absl::InvalidArgumentError("the covariance has no variance");
  }
  const at::Tensor shares = eigenvalues / eigenvalues.sum();
  return FeatureInformation{
      .rank = (eigenvalues > kZeroEigenvalue * largest).sum().item<int64_t>(),
      .effective_rank =
          std::exp(-at::xlogy(shares, shares).sum().item<double>())};
}

absl::Status CheckVariance(absl::string_view side, absl::string_view network,
                           const at::Tensor& features_ND) {
  GANDEM_RETURN_IF_ERROR(
      Annotate(CheckFeatures("features", features_ND, /*min_rows=*/1),
               absl::StrCat(side, ", seen by ", network)));
  const at::Tensor first_D = features_ND[0].to(at::kDouble);
  double sum = 0;
  for (const at::Tensor& chunk_ND : features_ND.split(kChunkRows)) {
    sum += (chunk_ND.to(at::kDouble) - first_D).square().sum().item<double>();
  }
  return CheckSums(side, network,
                   sum / static_cast<double>(features_ND.size(0)),
                   first_D.square().sum().item<double>());
}

absl::Status CheckVariance(absl::string_view side, absl::string_view network,
                           const Moments& moments) {
  return CheckSums(side, network, moments.covariance_DD.trace().item<double>(),
                   moments.mean_D.square().sum().item<double>());
}

}  // namespace gandem
