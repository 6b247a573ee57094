// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/frechet_distance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::RandomRotation;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kFrechetDistanceDim = 24;

Moments Gaussian(const at::Tensor& mean_D, const at::Tensor& covariance_DD) {
  return {.count = 0,
          .mean_D = mean_D,
          .covariance_DD = covariance_DD,
          .root_ND = {}};
}

Moments Of(const at::Tensor& features_ND) {
  const auto moments = MomentsOf(features_ND);
  EXPECT_OK(moments);
  return *moments;
}

// SetA and SetB have full covariances without common structure.
at::Tensor SetA() {
  return RandomNormal(200, kFrechetDistanceDim, 1)
      .mm(RandomNormal(kFrechetDistanceDim, kFrechetDistanceDim, 2));
}
at::Tensor SetB() {
  return RandomNormal(300, kFrechetDistanceDim, 3)
             .mm(RandomNormal(kFrechetDistanceDim, kFrechetDistanceDim, 4)) +
         0.5;
}

double Distance(const Moments& a, const Moments& b) {
  const auto distance = FrechetDistance(a, b);
  EXPECT_OK(distance);
  return *distance;
}

// The definition by singular values alone: the roots of both covariances from
// those of the centered rows, then the nuclear norm of the roots' product.
double DistanceBySvd(const at::Tensor& a_ND, const at::Tensor& b_MD) {
  const auto root = [](const at::Tensor& x_ND) {
    const at::Tensor centered =
        (x_ND - x_ND.mean(0)) /
        std::sqrt(static_cast<double>(x_ND.size(0) - 1));
    const auto [u, s, vh] = at::linalg_svd(centered, /*full_matrices=*/false);
    return (vh.t() * s).mm(vh);
  };
  const at::Tensor root_a = root(a_ND);
  const at::Tensor root_b = root(b_MD);
  return ((a_ND.mean(0) - b_MD.mean(0)).square().sum() + root_a.square().sum() +
          root_b.square().sum() -
          2 * at::linalg_svdvals(root_a.mm(root_b)).sum())
      .item<double>();
}

TEST(FrechetDistanceTest, EqualCovariancesLeaveTheMeans) {
  const Moments a = Of(SetA());
  Moments b = a;
  b.mean_D =
      a.mean_D + torch::linspace(-1, 1, kFrechetDistanceDim, at::kDouble);
  EXPECT_NEAR(Distance(a, b),
              torch::linspace(-1, 1, kFrechetDistanceDim, at::kDouble)
                  .square()
                  .sum()
                  .item<double>(),
              1e-9);
}

TEST(FrechetDistanceTest, CommutingCovariancesLeaveTheRoots) {
  const at::Tensor basis = RandomRotation(kFrechetDistanceDim, 5);
  const at::Tensor roots_a =
      torch::linspace(0.1, 3, kFrechetDistanceDim, at::kDouble);
  const at::Tensor roots_b =
      torch::linspace(4, 0.1, kFrechetDistanceDim, at::kDouble);
  const at::Tensor zero = torch::zeros({kFrechetDistanceDim}, at::kDouble);
  const auto covariance = [&basis](const at::Tensor& roots) {
    return (basis * roots.square()).mm(basis.t());
  };
  EXPECT_NEAR(Distance(Gaussian(zero, covariance(roots_a)),
                       Gaussian(zero, covariance(roots_b))),
              (roots_a - roots_b).square().sum().item<double>(), 1e-8);
}

TEST(FrechetDistanceTest, OneDimension) {
  const auto normal = [](double mean, double sd) {
    return Gaussian(torch::full({1}, mean, at::kDouble),
                    torch::full({1, 1}, sd * sd, at::kDouble));
  };
  EXPECT_NEAR(Distance(normal(1, 2), normal(4, 6)), 9 + 16, 1e-12);
}

TEST(FrechetDistanceTest, IsZeroForEqualSets) {
  for (const int64_t rows : {3, 24, 25, 200}) {
    const Moments a = Of(SetA().slice(0, 0, rows));
    const double scale = a.covariance_DD.trace().item<double>();
    EXPECT_NEAR(Distance(a, a), 0, 1e-11 * scale) << rows;
    EXPECT_GE(Distance(a, a), 0) << rows;
  }
}

TEST(FrechetDistanceTest, IsSymmetric) {
  for (const int64_t rows : {10, 200}) {
    const Moments a = Of(SetA().slice(0, 0, rows));
    const Moments b = Of(SetB());
    EXPECT_NEAR(Distance(a, b), Distance(b, a), 1e-10 * Distance(a, b));
  }
}

TEST(FrechetDistanceTest, RotationChangesNothing) {
  const at::Tensor rotation = RandomRotation(kFrechetDistanceDim, 6);
  for (const int64_t rows : {10, 200}) {
    const at::Tensor a = SetA().slice(0, 0, rows);
    const double distance = Distance(Of(a), Of(SetB()));
    EXPECT_NEAR(Distance(Of(a.mm(rotation)), Of(SetB().mm(rotation))), distance,
                1e-10 * distance);
  }
}

TEST(FrechetDistanceTest, ScalesWithTheSquare) {
  for (const int64_t rows : {10, 200}) {
    const at::Tensor a = SetA().slice(0, 0, rows);
    const double distance = Distance(Of(a), Of(SetB()));
    EXPECT_NEAR(Distance(Of(a * 1e-3), Of(SetB() * 1e-3)), distance * 1e-6,
                1e-16 * distance);
  }
}

TEST(FrechetDistanceTest, EqualsTheSvdForAnyNumberOfRows) {
  for (const int64_t rows_a : {2, 7, 23, 24, 25, 26, 200}) {
    for (const int64_t rows_b : {2, 24, 25, 300}) {
      const at::Tensor a = SetA().slice(0, 0, rows_a);
      const at::Tensor b = SetB().slice(0, 0, rows_b);
      const double expected = DistanceBySvd(a, b);
      EXPECT_NEAR(Distance(Of(a), Of(b)), expected, 1e-8 * expected)
          << rows_a << " " << rows_b;
    }
  }
}

// A small distance is the difference of large traces.
TEST(FrechetDistanceTest, EqualsTheSvdWhereItIsSmall) {
  const at::Tensor a = SetA().slice(0, 0, 15);
  const at::Tensor b = a + 1e-3 * SetB().slice(0, 0, 15);
  const double expected = DistanceBySvd(a, b);
  EXPECT_LE(expected, 1e-3);
  EXPECT_NEAR(Distance(Of(a), Of(b)), expected, 1e-8 * expected);
}

// A statistics file has no rows; the count still tells the rank.
TEST(FrechetDistanceTest, CovariancesOfFewRowsWithoutTheRows) {
  const at::Tensor a = SetA().slice(0, 0, 10);
  const at::Tensor b = SetB().slice(0, 0, 12);
  Moments without_rows = Of(a);
  without_rows.root_ND = at::Tensor();
  const double expected = DistanceBySvd(a, b);
  EXPECT_NEAR(Distance(without_rows, Of(b)), expected, 1e-8 * expected);
  EXPECT_NEAR(Distance(Of(b), without_rows), expected, 1e-8 * expected);
}

// Units that are always off add no rounding noise of 1e-8 each.
TEST(FrechetDistanceTest, ConstantDimensionsAddNothing) {
  const at::Tensor zeros = torch::zeros({200, 40}, at::kDouble);
  const at::Tensor a = at::cat({SetA(), zeros}, 1);
  const at::Tensor b = at::cat({zeros, SetA().flip(1)}, 1);
  const at::Tensor c = at::cat({SetA() * 1.001, zeros}, 1);
  EXPECT_NEAR(Distance(Of(a), Of(b)), DistanceBySvd(a, b),
              1e-11 * DistanceBySvd(a, b));
  EXPECT_NEAR(Distance(Of(a), Of(c)), DistanceBySvd(a, c),
              1e-11 * Of(a).covariance_DD.trace().item<double>());
  const Moments nothing =
      Of(torch::zeros({200, kFrechetDistanceDim}, at::kDouble));
  EXPECT_NEAR(Distance(nothing, nothing), 0, 0);
}

TEST(FrechetDistanceTest, EigenvaluesOfTheReference) {
  const Moments of_all = Of(SetA());
  ASSERT_OK_AND_ASSIGN(const FrechetReference full,
                       FrechetReference::Create(of_all));
  ASSERT_EQ(full.eigenvalues().size(), kFrechetDistanceDim);
  double trace = 0;
  for (const double value : full.eigenvalues()) trace += value;
  EXPECT_NEAR(trace, of_all.covariance_DD.trace().item<double>(),
              1e-10 * trace);
  const Moments of_few = Of(SetA().slice(0, 0, 10));
  ASSERT_OK_AND_ASSIGN(const FrechetReference few,
                       FrechetReference::Create(of_few));
  double few_trace = 0;
  for (const double value : few.eigenvalues()) few_trace += value;
  EXPECT_NEAR(few_trace, of_few.covariance_DD.trace().item<double>(),
              1e-10 * few_trace);
}

TEST(FrechetDistanceTest, BadInput) {
  const Moments a = Of(SetA());
  EXPECT_THAT(
      FrechetDistance(a, Of(RandomNormal(9, kFrechetDistanceDim + 1, 1))),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("different networks")));
  EXPECT_THAT(FrechetDistance(a, Moments()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  Moments negative = a;
  negative.covariance_DD =
      a.covariance_DD - torch::eye(kFrechetDistanceDim, at::kDouble) * 9;
  EXPECT_THAT(
      FrechetDistance(negative, a),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a covariance")));
  EXPECT_THAT(FrechetDistance(a, negative),
              StatusIs(absl::StatusCode::kDataLoss));
  Moments nan = a;
  nan.mean_D = a.mean_D.clone();
  nan.mean_D[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(FrechetDistance(nan, a), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(FrechetDistance(a, nan), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace gandem
