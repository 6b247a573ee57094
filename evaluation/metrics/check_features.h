// SPDX-License-Identifier: Apache-2.0
//
// What every metric asks of the features that it gets: float32 or float64. All
// compute in float64, a part of the rows at a time, so features that float32
// holds give the same bits in either type.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "evaluation/metrics/feature_moments.h"

namespace gandem {

// `what` names them in messages: "generated features".
//   INVALID_ARGUMENT  not such features [N, D] on the CPU with N >= min_rows
//                     and D >= 1; says what it is.
//   DATA_LOSS         NaN or infinity; names the first row that has one.
absl::Status CheckFeatures(absl::string_view what, const at::Tensor& tensor,
                           int64_t min_rows);

// Both, and that they have the same D.
absl::Status CheckFeaturePair(const at::Tensor& reference_ND,
                              const at::Tensor& generated_MD, int64_t min_rows);

// Whether features vary by more than float32 rounds: a network that gives all
// images the same features makes every distance 0. `side` and `network` are
// their names in messages.
//   DATA_LOSS  they do not, or have NaN or infinity.
absl::Status CheckVariance(absl::string_view side, absl::string_view network,
                           const at::Tensor& features_ND);
absl::Status CheckVariance(absl::string_view side, absl::string_view network,
                           const Moments& moments);

}  // namespace gandem
