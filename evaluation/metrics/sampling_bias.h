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
// Eigenvalues of a sample of r + 1 rows are too far apart. What the sample does
// to T(u) = sum of u l / (1 + u l), whose real part is P(s) at u = i s^(1/2),
// is known (Silverstein 1995, equation 1.1, and Silverstein and Choi 1995), and
// can be undone: T(t (1 - T_sample(t) / r)) =
// T_sample(t). So t solves t (1 - T_sample(t) / r) = i s^(1/2) and P(s) is the
// real part of T_sample(t). Im t > 0 where P(s) < r: all that the integral
// needs where m = r + 1. tests/oracles/sampling_goldens.py measures it.
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
