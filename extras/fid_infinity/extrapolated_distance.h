// SPDX-License-Identifier: Apache-2.0
//
// A Frechet distance without the part that comes from the number of generated
// images: distances of subsets of N images lie on a line in 1/N, and its value
// at 1/N = 0 is the estimate (Chong and Forsyth, "Effectively unbiased FID and
// Inception score and where to find them", CVPR 2020). As in their code: 15
// sizes, evenly spaced from the smallest one to all images, each subset drawn
// without replacement, ordinary least squares.
//
// The smallest subset is a tenth of the images, 5,000 of 50,000 as theirs. What
// the number of the reference's images adds stays in it.
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "evaluation/metrics/frechet_distance.h"

namespace gandem {

// Fewer images give subsets that differ by too little from each other.
inline constexpr int64_t kLeastToExtrapolate = 150;

// 15 ascending sizes from num_images / 10 to num_images, which is
// kLeastToExtrapolate or more.
std::vector<int64_t> ExtrapolationSizes(int64_t num_images);

// May be below 0 where the distance is small: it is the end of a fitted line.
// Subsets are keyed by (seed, subset, place).
//   INVALID_ARGUMENT  not features [N, D], another D than the reference's, or
//                     fewer rows than kLeastToExtrapolate.
//   DATA_LOSS         NaN or infinity; names the row.
absl::StatusOr<double> ExtrapolatedDistance(const FrechetReference& reference,
                                            const at::Tensor& features_ND,
                                            uint64_t seed = 0);

// The same of subsets that are given, each int64 [rows], of two sizes or more.
absl::StatusOr<double> ExtrapolatedDistanceOfSubsets(
    const FrechetReference& reference, const at::Tensor& features_ND,
    const std::vector<at::Tensor>& subsets);

}  // namespace gandem
