// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/metrics_self_test.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/philox.h"
#include "common/status.h"
#include "evaluation/metrics/feature_moments.h"
#include "evaluation/metrics/frechet_distance.h"
#include "evaluation/metrics/inception_score.h"
#include "evaluation/metrics/kernel_distance.h"
#include "evaluation/metrics/precision_recall.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

// Large enough for a library's blocked kernels, and no multiple of a block.
constexpr int64_t kDim = 131;

// Collects what is wrong.
class Checks {
 public:
  void Near(absl::string_view name, const absl::StatusOr<double>& value,
            double expected, double tolerance) {
    if (!value.ok()) {
      faults_.Add(absl::StrCat(name, ": ", value.status().message()));
    } else if (!(std::abs(*value - expected) <= tolerance)) {
      faults_.Add(absl::StrCat(name, " is ", *value, ", not ", expected));
    }
  }

  // The same of one number of a result.
  template <typename Result>
  void Near(absl::string_view name, const absl::StatusOr<Result>& result,
            double Result::*number, double expected, double tolerance) {
    Near(name,
         result.ok() ? absl::StatusOr<double>((*result).*number)
                     : result.status(),
         expected, tolerance);
  }

  absl::Status ToStatus() const {
    if (faults_.empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(
        faults_.ToStatus().message(),
        ". This machine's linear algebra gives wrong results (LibTorch, its "
        "BLAS or the processor): do not trust any metric from it"));
  }

 private:
  Faults faults_{"self-test of the metrics"};
};

// Whole numbers in [-8, 8], whose products and sums are exact.
at::Tensor WholeNumbers(int64_t rows, int64_t columns, uint64_t index) {
  PhiloxStream stream(0, Purpose::kResampling, 0, index);
  at::Tensor values = torch::empty({rows, columns}, at::kDouble);
  auto* value = values.mutable_data_ptr<double>();
  for (int64_t i = 0; i < rows * columns; ++i) {
    value[i] = static_cast<double>(stream.NextBelow(17)) - 8;
  }
  return values;
}

// An orthogonal matrix without any library: sines are its entries (the
// discrete sine transform of type I).
at::Tensor Orthogonal() {
  at::Tensor matrix = torch::empty({kDim, kDim}, at::kDouble);
  auto* value = matrix.mutable_data_ptr<double>();
  for (int64_t i = 1; i <= kDim; ++i) {
    for (int64_t j = 1; j <= kDim; ++j) {
      *value++ =
          std::sqrt(2.0 / (kDim + 1)) *
          std::sin(std::numbers::pi * static_cast<double>(i * j) / (kDim + 1));
    }
  }
  return matrix;
}

// Largest error of a product against plain loops: exactly 0.
double ProductError() {
  const at::Tensor a = WholeNumbers(kDim, 2 * kDim, 0);
  const at::Tensor b = WholeNumbers(2 * kDim, kDim, 1);
  const at::Tensor product = a.mm(b);
  const auto* x = a.const_data_ptr<double>();
  const auto* y = b.const_data_ptr<double>();
  const auto* z = product.const_data_ptr<double>();
  double error = 0;
  for (int64_t i = 0; i < kDim; ++i) {
    for (int64_t j = 0; j < kDim; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 2 * kDim; ++k) {
        sum += x[i * 2 * kDim + k] * y[k * kDim + j];
      }
      error = std::max(error, std::abs(sum - z[i * kDim + j]));
    }
  }
  return error;
}

// Covariances of one eigenbasis, whose distance is that of the roots of their
// eigenvalues; the second one shifted by 2 in one coordinate.
void CheckEigenPath(Checks& checks) {
  const at::Tensor basis = Orthogonal();
  const at::Tensor roots_a = torch::arange(1, kDim + 1, at::kDouble) / 16;
  const at::Tensor roots_b = roots_a.flip(0) + 1;
  const auto moments = [&basis](const at::Tensor& roots, double shift) {
    Moments result = {.count = 0,
                      .mean_D = torch::zeros({kDim}, at::kDouble),
                      .covariance_DD = (basis * roots.square()).mm(basis.t()),
                      .root_ND = {}};
    result.mean_D[0] = shift;
    return result;
  };
  const double expected = 4 + (roots_a - roots_b).square().sum().item<double>();
  checks.Near("the Frechet distance of commuting covariances",
              FrechetDistance(moments(roots_a, 1), moments(roots_b, -1)),
              expected, 1e-9 * expected);
}

absl::StatusOr<double> DistanceOfRows(const at::Tensor& x_ND,
                                      const at::Tensor& y_MD) {
  GANDEM_ASSIGN_OR_RETURN(const Moments x, MomentsOf(x_ND));
  GANDEM_ASSIGN_OR_RETURN(const Moments y, MomentsOf(y_MD));
  return FrechetDistance(x, y);
}

// Fewer rows than dimensions: a set, and itself times 3. What is left is the
// mean's square and the variance of the difference, which is the set times 2.
void CheckNuclearPath(Checks& checks) {
  constexpr int64_t kRows = kDim / 2;
  const at::Tensor rows = WholeNumbers(kRows, kDim, 2);
  const at::Tensor sum_D = rows.sum(0);
  const double squares = rows.square().sum().item<double>();
  const double squared_mean =
      sum_D.square().sum().item<double>() / (kRows * kRows);
  const double trace = (squares - kRows * squared_mean) / (kRows - 1);
  const double expected = 4 * (squared_mean + trace);
  checks.Near("the Frechet distance of a set and three times it",
              DistanceOfRows(rows, rows * 3), expected, 1e-9 * expected);
}

void CheckScores(Checks& checks) {
  constexpr int64_t kClasses = 10;
  checks.Near("the inception score of no preference",
              InceptionScore(torch::zeros({100, kClasses}, at::kDouble)),
              &MeanAndSd::mean, 1, 1e-12);
  checks.Near("the inception score of every class for certain",
              InceptionScoreInOrder(
                  torch::eye(kClasses, at::kDouble).repeat({10, 1}) * 1000, 10),
              &MeanAndSd::mean, kClasses, 1e-10);
}

// Rows on a line: x_i = i against y_i = i + 1, worked out by hand.
void CheckNeighborsAndKernel(Checks& checks) {
  const at::Tensor x = torch::arange(8, at::kDouble).unsqueeze(1);
  checks.Near("precision of two rows of eight within reach",
              ComputePrecisionRecall(x, x + 6.5,
                                     {.neighbors = 1, .density_neighbors = 1}),
              &PrecisionRecall::precision, 2.0 / 8, 1e-12);
  // Kernel (xy + 1)^3 of {0, 1} and {1, 2}: 1 + 27 - 2 (1 + 1 + 8 + 27) / 4.
  const at::Tensor both = torch::arange(2, at::kLong).unsqueeze(0);
  checks.Near(
      "the kernel distance of {0, 1} and {1, 2}",
      KernelDistanceOfSubsets(x.slice(0, 0, 2), x.slice(0, 1, 3), both, both),
      &MeanAndSd::mean, 9.5, 1e-12);
}

}  // namespace

absl::Status MetricsSelfTest() {
  Checks checks;
  const absl::Status thrown = CatchTorch([&checks] {
    checks.Near("the error of a matrix product", ProductError(), 0, 0);
    CheckEigenPath(checks);
    CheckNuclearPath(checks);
    CheckScores(checks);
    CheckNeighborsAndKernel(checks);
    return absl::OkStatus();
  });
  if (!thrown.ok()) return Annotate(thrown, "self-test of the metrics");
  return checks.ToStatus();
}

}  // namespace gandem
