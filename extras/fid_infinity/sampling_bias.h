// SPDX-License-Identifier: Apache-2.0
//
// How much of a Frechet distance comes from the number of samples alone.
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
// Eigenvalues of a sample of r + 1 rows are spread too far. The real part of
// T(u) = sum of u l / (1 + u l) at u = i s^(1/2) is P(s). Sampling changes T as
// follows (Silverstein 1995, equation 1.1, and Silverstein and Choi 1995):
//   T(t (1 - T_sample(t) / r)) = T_sample(t).
// So P(s) is the real part of T_sample(t) for the t that solves
//   t (1 - T_sample(t) / r) = i s^(1/2).
// Im t > 0 where P(s) < r, which covers the integral if m = r + 1.
// tests/oracles/sampling_goldens.py measures it.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

namespace gandem {

// `eigenvalues` are those of C, or, if `rows` is not 0, those of the covariance
// of a sample of that many rows. They are >= 0, and zeros may be left out. n, m
// and rows are >= 2, or 0 for the Gaussian itself instead of a sample.
double PredictedSamplingBias(std::span<const double> eigenvalues, int64_t n,
                             int64_t m, int64_t rows = 0);

}  // namespace gandem
