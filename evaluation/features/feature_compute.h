// SPDX-License-Identifier: Apache-2.0
//
// Where a network of features runs, and in which precision.
//
// Owner: values. Thread safety: pure functions. Errors: Status only.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

struct FeatureCompute {
  at::Device device = at::kCPU;
  // kFloat, or what the factors of convolutions and matrix products are cast
  // to (models/autocast.h).
  at::ScalarType precision = at::kFloat;
};

// "float32", "bfloat16" or "float16"; empty: float32.
//   INVALID_ARGUMENT  another name; lists them.
absl::StatusOr<at::ScalarType> ParsePrecision(absl::string_view text);
std::string PrecisionText(at::ScalarType precision);

// "bfloat16", "float32 on cuda"; empty: float32 on the CPU. Features are
// comparable, and the same bits, where it is the same.
std::string ComputeText(const FeatureCompute& compute);

}  // namespace gandem
