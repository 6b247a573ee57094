// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/check_features.h"

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
  // The sum of finite numbers may be infinite, but that of others never is
  // finite: one cheap look is enough almost always.
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

}  // namespace gandem
