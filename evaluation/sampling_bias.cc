// SPDX-License-Identifier: Apache-2.0
#include "evaluation/sampling_bias.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/philox.h"
#include "common/status.h"

namespace gandem {
namespace {

// The integral's variable is y with s = exp(2 y) / l_max^2. The integrand
// falls like exp(3 y) to the left and exp(-3 y), from the smallest l_i on, to
// the right: the trapezoid rule converges quickly.
constexpr double kStep = 0.02;
constexpr double kLeft = -14;

// Independent rows of a sample: its mean takes one. Infinite for 0.
double DegreesOfFreedom(int64_t n) {
  GANDEM_CHECK(n == 0 || n >= 2);
  return n == 0 ? std::numeric_limits<double>::infinity()
                : static_cast<double>(n - 1);
}

// 2 (tr C - E tr (A B)^(1/2)) without the last term of the header. Here
// sum_i p(s) / D * D / (n - 1) needs no D, so zero eigenvalues may be missing.
double CovarianceBias(std::span<const double> eigenvalues, double dof_n,
                      double dof_m) {
  const double largest = *std::ranges::max_element(eigenvalues);
  const double smallest = *std::ranges::min_element(eigenvalues);
  const double right = std::log(largest / smallest) + 15;
  double sum = 0;
  for (double y = kLeft; y < right; y += kStep) {
    double effective = 0;  // D p(s)
    double density = 0;
    const double factor = std::exp(y) / largest;
    for (const double value : eigenvalues) {
      const double scaled = value * factor;
      const double a = scaled * scaled;
      effective += a / (1 + a);
      density += value * scaled / ((1 + a) * (1 + a));
    }
    const double left = std::max(1 - effective / dof_n, 0.0) *
                        std::max(1 - effective / dof_m, 0.0);
    sum += (1 - std::sqrt(left)) * density;
  }
  // 2 * 2 / pi * integral of s^(-1/2) ... ds, and s^(-1/2) ds = 2 e^y / l dy.
  return 8 / std::numbers::pi * kStep * sum;
}

}  // namespace

double PredictedSamplingBias(std::span<const double> eigenvalues, int64_t n,
                             int64_t m) {
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
  const double means = trace * (1 / (dof_n + 1) + 1 / (dof_m + 1));
  return means + CovarianceBias(positive, dof_n, dof_m) +
         trace / 4 * (1 / dof_n + 1 / dof_m);
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
