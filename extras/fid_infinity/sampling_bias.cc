// SPDX-License-Identifier: Apache-2.0
#include "extras/fid_infinity/sampling_bias.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "common/check.h"

namespace gandem {
namespace {

// The integration variable is y, where s = exp(2 y) / l_max^2. The integrands
// fall like exp(3 y) to the left, and like exp(-3 y) to the right of the
// smallest eigenvalue.
constexpr double kStep = 0.02;
constexpr double kLeft = -14;
constexpr double kBeyondSmallest = 14;

// Degrees of freedom of n rows: the mean takes one. Infinite for n = 0.
double DegreesOfFreedom(int64_t n) {
  GANDEM_CHECK(n == 0 || n >= 2);
  return n == 0 ? std::numeric_limits<double>::infinity()
                : static_cast<double>(n - 1);
}

// P(s) of sampling_bias.h, where root_s = s^(1/2).
double EffectiveDimensions(std::span<const double> eigenvalues, double root_s) {
  double sum = 0;
  for (const double value : eigenvalues) {
    const double x = value * root_s * value * root_s;
    sum += x / (1 + x);
  }
  return sum;
}

// P(s) of the Gaussian behind a sample of dof + 1 rows with these eigenvalues.
// Newton's method finds t of sampling_bias.h and starts at the previous t, so
// call At() with growing root_s.
class SampledDimensions {
 public:
  SampledDimensions(std::span<const double> eigenvalues, double dof)
      : eigenvalues_(eigenvalues), dof_(dof) {}

  // Empty once rounding errors hide the contribution of the eigenvalues.
  std::optional<double> At(double root_s) {
    constexpr int kMaxIterations = 60;
    constexpr double kEnough = 1e-10;
    const std::complex<double> target(0, root_s);
    t_ = last_root_s_ == 0 ? target : t_ * (root_s / last_root_s_);
    last_root_s_ = root_s;
    for (int i = 0; i < kMaxIterations; ++i) {
      std::complex<double> sum = 0;         // T(t)
      std::complex<double> derivative = 0;  // T'(t)
      for (const double value : eigenvalues_) {
        const std::complex<double> part = value / (1.0 + t_ * value);
        sum += t_ * part;
        derivative += part - t_ * part * part;
      }
      const std::complex<double> rest = 1.0 - sum / dof_;
      const std::complex<double> step =
          (t_ * rest - target) / (rest - t_ * derivative / dof_);
      t_ -= step;
      if (!(std::abs(step) > kEnough * std::abs(t_))) {
        return t_.imag() > 0 ? std::optional(sum.real()) : std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  const std::span<const double> eigenvalues_;
  const double dof_;
  std::complex<double> t_ = 0;
  double last_root_s_ = 0;
};

// 2 (tr C - E tr (A B)^(1/2)) without the term of the real Wishart. A finite
// `dof` means that the eigenvalues are those of a sample of dof + 1 rows.
double CovarianceBias(std::span<const double> eigenvalues, double trace,
                      double dof_n, double dof_m, double dof) {
  const double largest = *std::ranges::max_element(eigenvalues);
  const double smallest = *std::ranges::min_element(eigenvalues);
  const double right = std::log(largest / smallest) + kBeyondSmallest;
  SampledDimensions sampled(eigenvalues, dof);
  double before = 0;
  double kept = 0;  // the integral in sampling_bias.h
  double lost = 0;  // the integral of 1 - (...)^(1/2): avoids cancellation
  for (double y = kLeft; y < right; y += kStep) {
    const double root_s = std::exp(y) / largest;
    const std::optional<double> now =
        std::isinf(dof) ? EffectiveDimensions(eigenvalues, root_s)
                        : sampled.At(root_s);
    const double middle = (now.value_or(before) + before) / 2;
    // The integrand of `kept` is 0 from here on.
    if (!now.has_value() || *now < before || middle >= dof_n ||
        middle >= dof_m) {
      return 2 * trace - 4 / std::numbers::pi * kept;
    }
    const double root = std::sqrt((1 - middle / dof_n) * (1 - middle / dof_m));
    const double weight = (*now - before) * std::exp(kStep / 2) / root_s;
    kept += root * weight;
    lost += (1 - root) * weight;
    before = *now;
  }
  return 4 / std::numbers::pi * lost;
}

}  // namespace

// The terms are those of the means, of the real Wishart, and the integral.
double PredictedSamplingBias(std::span<const double> eigenvalues, int64_t n,
                             int64_t m, int64_t rows) {
  std::vector<double> positive;
  double trace = 0;
  for (const double value : eigenvalues) {
    if (!(value > 0)) continue;
    positive.push_back(value);
    trace += value;
  }
  if (positive.empty() || (n == 0 && m == 0)) return 0;
  const double dof_n = DegreesOfFreedom(n);
  const double dof_m = DegreesOfFreedom(m);
  return trace * (1 / (dof_n + 1) + 1 / (dof_m + 1)) +
         trace / 4 * (1 / dof_n + 1 / dof_m) +
         CovarianceBias(positive, trace, dof_n, dof_m, DegreesOfFreedom(rows));
}

}  // namespace gandem
