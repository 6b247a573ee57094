// SPDX-License-Identifier: Apache-2.0
//
// How much a metric varies from sample to sample.
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

// Standard deviation of `statistic` of num_rows independent rows, from random
// halvings keyed by (seed, halving): the halves, whose row numbers (int64) it
// gets, share no row, so half of the mean of their squared differences is
// without bias the variance of num_rows / 2 rows; half of that again is the
// result's square (McCarthy 1969, "Pseudo-replication: half samples").
//
// A distance's variance is a / n + b / n^2, and twice as many rows halve the
// first part and quarter the second: where a distance is nothing but bias
// (a = 0) the result is up to 2^(1/2) times too large, and with fewer rows than
// dimensions 1.7 times; else it is about right. A bootstrap, whose repeated
// rows add bias of their own, has 3^(1/2) and 2.4 there.
//   INVALID_ARGUMENT  fewer than kMinHalvingRows rows, no halvings.
//   ...               the first error of `statistic`.
absl::StatusOr<double> HalvingSd(
    int64_t num_rows, const HalvingOptions& options,
    absl::FunctionRef<absl::StatusOr<double>(const at::Tensor& rows_N)>
        statistic);

}  // namespace gandem
