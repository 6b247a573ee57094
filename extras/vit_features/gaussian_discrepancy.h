// SPDX-License-Identifier: Apache-2.0
//
// CMMD: the squared maximum mean discrepancy with a Gaussian kernel of CLIP's
// embeddings (Jayasumana et al., "Rethinking FID: towards a better evaluation
// metric for image generation", CVPR 2024). With rows x and y of length 1,
// sigma = 10 and all pairs, those of a row with itself too, as in their code:
//
//   1000 (mean k(x, x') + mean k(y, y') - 2 mean k(x, y)),
//   k(a, b) = exp(-|a - b|^2 / (2 sigma^2))
//
// That is the biased estimate of Gretton et al. 2012, equation 5. Because of
// the pairs of a row with itself it is too large on average, by at most 20 / N
// for each side of N images.
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"

namespace gandem {

// Rows get length 1 here.
//   INVALID_ARGUMENT  not features [N, D], other dimensions, or no rows.
//   DATA_LOSS         NaN or infinity, or a row of zeros; names the row.
absl::StatusOr<double> GaussianDiscrepancy(const at::Tensor& reference_ND,
                                           const at::Tensor& generated_MD);

}  // namespace gandem
