// SPDX-License-Identifier: Apache-2.0
//
// CMMD: the squared maximum mean discrepancy of CLIP's embeddings with a
// Gaussian kernel (Jayasumana et al., "Rethinking FID: towards a better
// evaluation metric for image generation", CVPR 2024). Rows x and y have length
// 1, sigma is 10, and as in their code all pairs count, even of a row with
// itself:
//
//   1000 (mean k(x, x') + mean k(y, y') - 2 mean k(x, y)),
//   k(a, b) = exp(-|a - b|^2 / (2 sigma^2))
//
// This is the biased estimate of Gretton et al. 2012, equation 5. The pairs of
// a row with itself make it too large on average, by at most 20 / N for each
// side of N images.
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"

namespace gandem {

// Normalizes the rows to length 1.
//   INVALID_ARGUMENT  not features [N, D], different dimensions, or no rows.
//   DATA_LOSS         NaN or infinity, or a row of zeros; names the row.
absl::StatusOr<double> GaussianDiscrepancy(const at::Tensor& reference_ND,
                                           const at::Tensor& generated_MD);

}  // namespace gandem
