// SPDX-License-Identifier: Apache-2.0
//
// Metrics from LPIPS distances of pairs of images: how much a generator's
// images differ from each other, and how much they change along a path.
//
// Thread safety: pure functions. Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "evaluation/metrics/inception_score.h"

namespace gandem {

// Mean distance of pairs that share no image, and the standard deviation of
// that mean.
//   INVALID_ARGUMENT  not float64 [N, 1] of two rows or more.
absl::StatusOr<MeanAndSd> MeanDistance(const at::Tensor& distances_N1);

struct PathLength {
  double mean = 0;
  double sd = 0;     // standard deviation of the mean
  int64_t kept = 0;  // samples between the percentiles
};
// Perceptual path length (Karras et al. 2019, "A style-based generator
// architecture for generative adversarial networks", section 4.1): the mean of
// distance / epsilon^2 without the samples below the first and above the 99th
// percentile, as in its authors' code.
//   INVALID_ARGUMENT  as above.
absl::StatusOr<PathLength> PerceptualPathLength(const at::Tensor& distances_N1);

}  // namespace gandem
