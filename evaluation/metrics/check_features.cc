// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/check_features.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "models/torch.h"

namespace gandem {
namespace {

std::string DescribeFeatures(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return absl::StrCat(c10::toString(tensor.scalar_type()), " [",
                      absl::StrJoin(tensor.sizes(), ", "), "] on ",
                      tensor.device().str());
}

// Largest variance that counts as none, as a fraction of the features' squared
// length: 16 units in the last place of float32.
constexpr double kZeroVariance = 1e-12;

// `variance` and `square`, the squared length of the features, are sums over
// the dimensions.
absl::Status CheckSums(absl::string_view side, absl::string_view network,
                       double variance, double square) {
  if (variance > kZeroVariance * square) return absl::OkStatus();
  if (!std::isfinite(variance) || !std::isfinite(square)) {
    return absl::DataLossError(absl::StrCat(
        side, ": the features of ", network,
        " have NaN or infinity. Is the network's file damaged, or does it "
        "expect other images? Name another one with --features"));
  }
  return absl::DataLossError(absl::StrCat(
      side, ": ", network,
      " gives all images the same features, so no metric of them means "
      "anything. Look at the images: if they differ, the network's file is "
      "damaged or expects other images; name another one with --features"));
}

}  // namespace

absl::Status CheckFeatures(absl::string_view what, const at::Tensor& tensor,
                           int64_t min_rows) {
  if (!tensor.defined() || tensor.dim() != 2 ||
      (tensor.scalar_type() != at::kDouble &&
       tensor.scalar_type() != at::kFloat) ||
      !tensor.device().is_cpu() || tensor.size(0) < min_rows ||
      tensor.size(1) < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " are ", DescribeFeatures(tensor),
        ", expected Float or Double [N, D] on cpu with N >= ", min_rows));
  }
  // A finite sum proves that all numbers are finite; an infinite one does not
  // prove the opposite.
  if (std::isfinite(tensor.sum().item<double>())) return absl::OkStatus();
  const at::Tensor bad_N = tensor.isfinite().all(1).logical_not();
  if (!bad_N.any().item<bool>()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      what, " have NaN or infinity in row ",
      bad_N.to(at::kByte).argmax().item<int64_t>(), " (",
      bad_N.sum().item<int64_t>(), " of ", tensor.size(0),
      " rows have); look at that image and at the network that saw it"));
}

absl::Status CheckFeaturePair(const at::Tensor& reference_ND,
                              const at::Tensor& generated_MD,
                              int64_t min_rows) {
  GANDEM_RETURN_IF_ERROR(
      CheckFeatures("reference features", reference_ND, min_rows));
  GANDEM_RETURN_IF_ERROR(
      CheckFeatures("generated features", generated_MD, min_rows));
  if (reference_ND.size(1) != generated_MD.size(1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "reference features have ", reference_ND.size(1),
        " dimensions, generated ones have ", generated_MD.size(1),
        ": they come from different networks; compute both with one"));
  }
  return absl::OkStatus();
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
