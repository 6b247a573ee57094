// SPDX-License-Identifier: Apache-2.0
//
// A Frechet distance without the bias of a finite number of generated images.
// Distances of subsets of N images lie on a line in 1/N, and the estimate is
// its value at 1/N = 0 (Chong and Forsyth, "Effectively unbiased FID and
// Inception score and where to find them", CVPR 2020). Their code also uses 15
// evenly spaced sizes, subsets drawn without replacement, and ordinary least
// squares.
//
// The smallest subset is a tenth of the images, as in their code (5,000 of
// 50,000). The bias of a finite number of reference images remains.
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "evaluation/metrics/frechet_distance.h"

namespace gandem {

// Chosen: with fewer images, the subset sizes are too close to each other.
inline constexpr int64_t kLeastToExtrapolate = 150;

// 15 ascending sizes from num_images / 10 to num_images, which is
// kLeastToExtrapolate or more.
std::vector<int64_t> ExtrapolationSizes(int64_t num_images);

// The result may be negative for a small distance, because it is extrapolated.
// Subsets are keyed by (seed, subset, place).
//   INVALID_ARGUMENT  not features [N, D], another D than the reference's, or
//                     fewer rows than kLeastToExtrapolate.
//   DATA_LOSS         NaN or infinity; names the row.
absl::StatusOr<double> ExtrapolatedDistance(const FrechetReference& reference,
                                            const at::Tensor& features_ND,
                                            uint64_t seed = 0);

// The same for given subsets: each is int64 [rows], with at least two sizes.
absl::StatusOr<double> ExtrapolatedDistanceOfSubsets(
    const FrechetReference& reference, const at::Tensor& features_ND,
    const std::vector<at::Tensor>& subsets);

}  // namespace gandem
