// SPDX-License-Identifier: Apache-2.0
//
// Estimate of how much a metric varies between samples.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace gandem {

inline constexpr int64_t kMinHalvingRows = 4;

struct HalvingOptions {
  int64_t halvings = 20;  // >= 1
  uint64_t seed = 0;
};

// Standard deviation of `statistic` for num_rows independent rows, from random
// halvings keyed by (seed, halving). `statistic` gets the row numbers (int64)
// of a half. Halves share no row, so half of the mean of their squared
// differences is an unbiased variance for num_rows / 2 rows, and half of that
// is the variance for num_rows (McCarthy 1969, "Pseudo-replication: half
// samples").
//
// A distance's variance is a / n + b / n^2, and twice as many rows halve the
// first part and quarter the second. So for a distance that is only bias (a =
// 0), the result is up to 2^(1/2) times too large, and 1.7 times with fewer
// rows than dimensions; otherwise it is about right. For a bootstrap, whose
// repeated rows add bias of their own, it is 3^(1/2) and 2.4 times.
//   INVALID_ARGUMENT  fewer than kMinHalvingRows rows, no halvings.
//   ...               the first error of `statistic`.
absl::StatusOr<double> HalvingSd(
    int64_t num_rows, const HalvingOptions& options,
    absl::FunctionRef<absl::StatusOr<double>(const at::Tensor& rows_N)>
        statistic);

}  // namespace gandem
