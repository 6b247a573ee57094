// SPDX-License-Identifier: Apache-2.0
//
// The Frechet distance of two Gaussians (Dowson and Landau 1982; Heusel et
// al., "GANs trained by a two time-scale update rule ...", NeurIPS 2017,
// equation 6):
//
//   |mean_a - mean_b|^2 + tr A + tr B - 2 tr (A B)^(1/2)
//
// The last term needs no square root of A B, which is not symmetric and becomes
// complex near singularity. With A = R'R it is
//   the sum of the roots of the eigenvalues of R B R'  (symmetric), or
//   the nuclear norm of R S', where B = S'S.
// The first takes one decomposition per distance. The second loses no digits
// of small values to a root, and is used where a covariance has no full rank
// because its set has no more rows than dimensions; R is then the centered
// rows.
//
// Owner: values. Thread safety: any thread, after construction.
// Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "evaluation/metrics/feature_moments.h"

namespace gandem {

// A reference that is decomposed once, so that distances to it cost less.
class FrechetReference {
 public:
  //   INVALID_ARGUMENT  shapes that do not fit; a count of 1.
  //   DATA_LOSS         NaN or infinity; a covariance that is not one.
  static absl::StatusOr<FrechetReference> Create(Moments reference);

  // Returns 0 or more: negative rounding errors become 0.
  //   INVALID_ARGUMENT  another dimension, or as above.
  //   DATA_LOSS         as above.
  absl::StatusOr<double> DistanceTo(const Moments& other) const;

  // Eigenvalues of the covariance, without those that its rank makes 0.
  const std::vector<double>& eigenvalues() const { return eigenvalues_; }

 private:
  FrechetReference() = default;

  Moments moments_;
  at::Tensor root_RD_;  // its transpose times itself is the covariance
  std::vector<double> eigenvalues_;
};

absl::StatusOr<double> FrechetDistance(const Moments& a, const Moments& b);

}  // namespace gandem
