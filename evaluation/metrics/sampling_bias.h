// SPDX-License-Identifier: Apache-2.0
//
// How much of a Frechet distance comes from the number of samples alone, and
// how much a metric varies from sample to sample.
//
// Two samples, of n and m rows, of one Gaussian with covariance C have the
// expected distance
//
//   (1/n + 1/m) tr C  +  2 (tr C - E tr (A B)^(1/2))
//
// A B has the eigenvalues of W_n W_m C^2 with Wishart matrices W_n, W_m, which
// are asymptotically free, so their S-transforms multiply (Voiculescu 1987;
// Nica and Speicher, "Lectures on the combinatorics of free probability",
// lecture 18; for W_n it is 1 / (1 + z D / (n - 1))). With
// P(s) = sum over C's eigenvalues l of s l^2 / (1 + s l^2) that gives
//
//   E tr (A B)^(1/2) = (2 / pi) integral of
//       ((1 - P / (n - 1)) (1 - P / (m - 1)))_+^(1/2) s^(-1/2) dP(s)
//
// for any number of rows, also below D. The real (not complex) Wishart's next
// term, (1/(n-1) + 1/(m-1)) tr C / 4, is added. The sum is exact to second
// order for many rows and to D -> infinity for few.
//
// Eigenvalues of a sample of r rows are too far apart, which makes the second
// part too small. What r rows do to P is known: with t = i s^(1/2) it becomes
// the real part of the sum of t l e / (1 + t l e), where e solves
// 1/e = 1 + sum of t l / (1 + t l e) / (r - 1) (Silverstein 1995, equation
// 1.1). The part lost by doing that to the sample's own eigenvalues is added.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace gandem {

// `eigenvalues` of C, >= 0, D of them or only those that are not 0; with
// `rows`, those of the covariance of so many rows. n, m, rows >= 2, or 0 for
// the Gaussian itself instead of a sample.
double PredictedSamplingBias(std::span<const double> eigenvalues, int64_t n,
                             int64_t m, int64_t rows = 0);

struct BootstrapOptions {
  int64_t replicates = 20;  // >= 2
  uint64_t seed = 0;
};

// Standard deviation of `statistic` over replicates, each of which gets
// num_rows row numbers (int64) drawn with replacement, keyed by
// (seed, replicate, place): Efron 1979.
//   INVALID_ARGUMENT  fewer than 2 rows or replicates.
//   ...               the first error of `statistic`.
absl::StatusOr<double> BootstrapSd(
    int64_t num_rows, const BootstrapOptions& options,
    absl::FunctionRef<absl::StatusOr<double>(const at::Tensor& rows_N)>
        statistic);

}  // namespace gandem
