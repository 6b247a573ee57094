// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/sampling_bias.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/philox.h"
#include "common/status.h"
#include "models/torch.h"

namespace gandem {
namespace {

// The integrals' variable is y with s = exp(2 y) / l_max^2. The integrands
// fall like exp(3 y) to the left and, from the smallest eigenvalue on, like
// exp(-3 y) to the right.
constexpr double kStep = 0.02;
constexpr double kLeft = -14;
constexpr double kBeyondSmallest = 14;

// Independent rows of a sample: its mean takes one. Infinite for 0.
double DegreesOfFreedom(int64_t n) {
  GANDEM_CHECK(n == 0 || n >= 2);
  return n == 0 ? std::numeric_limits<double>::infinity()
                : static_cast<double>(n - 1);
}

// P(s) of the header at root_s = s^(1/2).
double EffectiveDimensions(std::span<const double> eigenvalues, double root_s) {
  double sum = 0;
  for (const double value : eigenvalues) {
    const double x = value * root_s * value * root_s;
    sum += x / (1 + x);
  }
  return sum;
}

// The same after a sample of dof + 1 rows: Silverstein's fixed point, which
// contracts. `e` is where to begin, and the solution.
double SampledEffectiveDimensions(std::span<const double> eigenvalues,
                                  double root_s, double dof,
                                  std::complex<double>& e) {
  constexpr int kMaxIterations = 200;
  constexpr double kEnough = 1e-9;
  for (int i = 0; i < kMaxIterations; ++i) {
    std::complex<double> sum = 0;
    for (const double value : eigenvalues) {
      // t l / (1 + t l e) with t l = i x, by real arithmetic.
      const double x = value * root_s;
      const double real = 1 - x * e.imag();
      const double imaginary = x * e.real();
      const double factor = x / (real * real + imaginary * imaginary);
      sum += std::complex<double>(factor * imaginary, factor * real);
    }
    const std::complex<double> next = 1.0 / (1.0 + sum / dof);
    const bool done = std::abs(next - e) < kEnough;
    e = next;
    if (done) break;
  }
  return dof * (1 - e.real());
}

// 2 (tr C - E tr (A B)^(1/2)) without its last term, of a Gaussian with these
// eigenvalues, or with those of a sample of dof + 1 rows of it.
double CovarianceBias(std::span<const double> eigenvalues, double dof_n,
                      double dof_m, double dof) {
  const double largest = *std::ranges::max_element(eigenvalues);
  const double smallest = *std::ranges::min_element(eigenvalues);
  const double right = std::log(largest / smallest) + kBeyondSmallest;
  std::complex<double> e = 1;
  double before = 0;
  double sum = 0;
  for (double y = kLeft; y < right; y += kStep) {
    const double root_s = std::exp(y) / largest;
    const double now =
        std::isinf(dof)
            ? EffectiveDimensions(eigenvalues, root_s)
            : SampledEffectiveDimensions(eigenvalues, root_s, dof, e);
    const double middle = (before + now) / 2;
    const double left =
        std::max(1 - middle / dof_n, 0.0) * std::max(1 - middle / dof_m, 0.0);
    sum +=
        (1 - std::sqrt(left)) * (now - before) * std::exp(kStep / 2) / root_s;
    before = now;
  }
  return 4 / std::numbers::pi * sum;
}

}  // namespace

// The sum of the header, term by term: means, the real Wishart's term, the
// integral, and its correction where the eigenvalues are a sample's.
double PredictedSamplingBias(std::span<const double> eigenvalues, int64_t n,
                             int64_t m, int64_t rows) {
  std::vector<double> positive;
  double trace = 0;
  for (const double value : eigenvalues) {
    if (!(value > 0)) continue;
    positive.push_back(value);
    trace += value;
  }
  if (positive.empty()) return 0;
  const double dof_n = DegreesOfFreedom(n);
  const double dof_m = DegreesOfFreedom(m);
  const double exact = std::numeric_limits<double>::infinity();
  double bias = trace * (1 / (dof_n + 1) + 1 / (dof_m + 1)) +
                trace / 4 * (1 / dof_n + 1 / dof_m);
  const double covariance = CovarianceBias(positive, dof_n, dof_m, exact);
  bias += covariance;
  if (rows != 0) {
    bias += covariance -
            CovarianceBias(positive, dof_n, dof_m, DegreesOfFreedom(rows));
  }
  return bias;
}

absl::StatusOr<double> BootstrapSd(
    int64_t num_rows, const BootstrapOptions& options,
    absl::FunctionRef<absl::StatusOr<double>(const at::Tensor& rows_N)>
        statistic) {
  if (num_rows < 2 || num_rows > UINT32_MAX || options.replicates < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("bootstrap: ", num_rows, " rows and ", options.replicates,
                     " replicates are not at least 2 each"));
  }
  const at::Tensor values = torch::empty({options.replicates}, at::kDouble);
  const at::Tensor rows = torch::empty({num_rows}, at::kLong);
  for (int64_t replicate = 0; replicate < options.replicates; ++replicate) {
    PhiloxStream stream(options.seed, Purpose::kResampling,
                        static_cast<uint64_t>(replicate), 0);
    for (int64_t i = 0; i < num_rows; ++i) {
      rows.mutable_data_ptr<int64_t>()[i] =
          stream.NextBelow(static_cast<uint32_t>(num_rows));
    }
    GANDEM_ASSIGN_OR_RETURN(const double value, statistic(rows));
    values[replicate] = value;
  }
  return values.std(/*unbiased=*/true).item<double>();
}

}  // namespace gandem
