// SPDX-License-Identifier: Apache-2.0
//
// Checks of the features that a metric takes: float32 or float64. All metrics
// compute in float64, some rows at a time, so values that float32 holds give
// the same bits in either type.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "evaluation/metrics/feature_moments.h"

namespace gandem {

// `what` names the tensor in messages: "generated features".
//   INVALID_ARGUMENT  not float32 or float64 [N, D] on the CPU with N >=
//                     min_rows and D >= 1; describes the tensor.
//   DATA_LOSS         NaN or infinity; names the first row that has one.
absl::Status CheckFeatures(absl::string_view what, const at::Tensor& tensor,
                           int64_t min_rows);

// Checks both tensors, and that their D is the same.
absl::Status CheckFeaturePair(const at::Tensor& reference_ND,
                              const at::Tensor& generated_MD, int64_t min_rows);

// Checks that features vary by more than float32 rounds: a network that gives
// all images the same features makes every distance 0. `side` and `network` are
// their names in messages.
//   DATA_LOSS  the features do not vary, or have NaN or infinity.
absl::Status CheckVariance(absl::string_view side, absl::string_view network,
                           const at::Tensor& features_ND);
absl::Status CheckVariance(absl::string_view side, absl::string_view network,
                           const Moments& moments);

}  // namespace gandem
