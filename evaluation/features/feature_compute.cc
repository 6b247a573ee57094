// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/feature_compute.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr std::pair<absl::string_view, at::ScalarType> kPrecisions[] = {
    {"float32", at::kFloat},
    {"bfloat16", at::kBFloat16},
    {"float16", at::kHalf}};

}  // namespace

absl::StatusOr<at::ScalarType> ParsePrecision(absl::string_view text) {
  if (text.empty()) return at::kFloat;
  for (const auto& [name, precision] : kPrecisions) {
    if (text == name) return precision;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "precision '", text, "' is none of float32, bfloat16, float16"));
}

std::string PrecisionText(at::ScalarType precision) {
  return std::string(
      std::ranges::find(kPrecisions, precision, [](const auto& known) {
        return known.second;
      })->first);
}

std::string ComputeText(const FeatureCompute& compute) {
  if (!compute.device.is_cpu()) {
    return absl::StrCat(PrecisionText(compute.precision), " on cuda");
  }
  return compute.precision == at::kFloat ? ""
                                         : PrecisionText(compute.precision);
}

}  // namespace gandem
