// SPDX-License-Identifier: Apache-2.0
//
// Kernel Inception distance: the unbiased estimate of the squared maximum mean
// discrepancy with the kernel (x.y / D + 1)^degree, averaged over subsets of
// both sets (Binkowski et al., "Demystifying MMD GANs", ICLR 2018, section 4;
// Gretton et al. 2012, equation 3). Its expectation does not depend on the
// number of images, so unlike a Frechet distance it may be negative and needs
// no correction.
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "evaluation/metrics/inception_score.h"

namespace gandem {

struct KernelDistanceOptions {
  int64_t num_subsets = 100;
  int64_t subset_rows = 1000;  // >= 2, for each set
  int64_t degree = 3;          // >= 1
  uint64_t seed = 0;           // rows are keyed by (seed, subset, place)
};

// sd is the standard deviation over the subsets (divided by their number).
//   INVALID_ARGUMENT  not features [N, D], other dimensions, or fewer rows than
//                     a subset has.
//   DATA_LOSS         NaN or infinity; names the row.
absl::StatusOr<MeanAndSd> KernelDistance(
    const at::Tensor& reference_ND, const at::Tensor& generated_MD,
    const KernelDistanceOptions& options = {});

// The distance over given subsets: int64 [num_subsets, rows] each.
//   INVALID_ARGUMENT  also an index out of range.
absl::StatusOr<MeanAndSd> KernelDistanceOfSubsets(
    const at::Tensor& reference_ND, const at::Tensor& generated_MD,
    const at::Tensor& reference_rows_SR, const at::Tensor& generated_rows_SR,
    int64_t degree = 3);

}  // namespace gandem
