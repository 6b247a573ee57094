// SPDX-License-Identifier: Apache-2.0
//
// Separate measures of fidelity and diversity. A row's ball reaches to its k-th
// nearest neighbor in its own set, without the row itself.
//
//   precision  generated rows that lie in the ball of a reference row
//   recall     reference rows that lie in the ball of a generated row
//     (Kynkaanniemi et al., "Improved precision and recall metric for
//     assessing generative models", NeurIPS 2019, equations 1 and 2; k = 3)
//   density    balls of reference rows that hold a generated row, divided by k
//   coverage   reference rows whose ball holds a generated row
//     (Naeem et al., "Reliable fidelity and diversity metrics for generative
//     models", ICML 2020, equations 4 and 5; k = 5)
// All are means over rows. Only density can be above 1; for two equal sets all
// are 1. The sets may have different numbers of rows.
//
// Distances come in blocks of rows, so memory does not grow with N M.
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace gandem {

struct PrecisionRecallOptions {
  int64_t neighbors = 3;          // for precision and recall
  int64_t density_neighbors = 5;  // for density and coverage
};

struct PrecisionRecall {
  double precision = 0;
  double recall = 0;
  double density = 0;
  double coverage = 0;
};

//   INVALID_ARGUMENT  not features [N, D], other dimensions, or not more rows
//                     than neighbors.
//   DATA_LOSS         NaN or infinity; names the row.
absl::StatusOr<PrecisionRecall> ComputePrecisionRecall(
    const at::Tensor& reference_ND, const at::Tensor& generated_MD,
    const PrecisionRecallOptions& options = {});

}  // namespace gandem
