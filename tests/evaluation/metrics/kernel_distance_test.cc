// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/kernel_distance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

TEST(KernelDistanceTest, EqualsTheDoubleSum) {
  const at::Tensor x_ND = RandomNormal(6, 3, 1);
  const at::Tensor y_MD = RandomNormal(5, 3, 2) + 1;
  const auto kernel = [](const at::Tensor& a, const at::Tensor& b) {
    return std::pow(a.dot(b).item<double>() / 3 + 1, 3);
  };
  double expected = 0;
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 6; ++j) {
      if (i != j) expected += kernel(x_ND[i], x_ND[j]) / (6 * 5);
    }
    for (int64_t j = 0; j < 5; ++j) {
      expected -= 2 * kernel(x_ND[i], y_MD[j]) / (6 * 5);
    }
  }
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      if (i != j) expected += kernel(y_MD[i], y_MD[j]) / (5 * 4);
    }
  }
  ASSERT_OK_AND_ASSIGN(const MeanAndSd distance,
                       KernelDistanceOfSubsets(
                           x_ND, y_MD, torch::arange(6, at::kLong).unsqueeze(0),
                           torch::arange(5, at::kLong).unsqueeze(0)));
  EXPECT_NEAR(distance.mean, expected, 1e-10);
  EXPECT_EQ(distance.sd, 0);
}

TEST(KernelDistanceTest, SamplesOfOneDistributionGiveZeroOnAverage) {
  ASSERT_OK_AND_ASSIGN(
      const MeanAndSd distance,
      KernelDistance(RandomNormal(4000, 4, 3), RandomNormal(4000, 4, 4),
                     {.num_subsets = 400, .subset_rows = 20}));
  EXPECT_NEAR(distance.mean, 0, 4 * distance.sd / 20);
  EXPECT_GT(distance.sd, 0);
}

TEST(KernelDistanceTest, SubsetsDependOnTheSeedAlone) {
  const at::Tensor x_ND = RandomNormal(100, 4, 5);
  const at::Tensor y_MD = RandomNormal(80, 4, 6) + 1;
  const auto with_seed = [&](uint64_t seed) {
    const auto distance = KernelDistance(
        x_ND, y_MD, {.num_subsets = 3, .subset_rows = 50, .seed = seed});
    EXPECT_OK(distance);
    return distance->mean;
  };
  EXPECT_EQ(with_seed(1), with_seed(1));
  EXPECT_NE(with_seed(1), with_seed(2));
}

// Subsets have all rows: drawing with replacement would repeat some, and a
// repeated row is nearer to itself than any two are.
TEST(KernelDistanceTest, SubsetsAreDrawnWithoutReplacement) {
  const at::Tensor x_ND = RandomNormal(64, 4, 7);
  const at::Tensor y_MD = RandomNormal(64, 4, 8);
  const at::Tensor all = torch::arange(64, at::kLong).unsqueeze(0);
  ASSERT_OK_AND_ASSIGN(const MeanAndSd expected,
                       KernelDistanceOfSubsets(x_ND, y_MD, all, all));
  ASSERT_OK_AND_ASSIGN(
      const MeanAndSd distance,
      KernelDistance(x_ND, y_MD, {.num_subsets = 5, .subset_rows = 64}));
  EXPECT_NEAR(distance.mean, expected.mean, 1e-12);
  EXPECT_NEAR(distance.sd, 0, 1e-12);
}

// With degree 1 only the means count: the distance is theirs, squared and
// unbiased.
TEST(KernelDistanceTest, TheDegreeOfTheKernel) {
  const at::Tensor x_ND = RandomNormal(40, 4, 10);
  const at::Tensor y_MD = RandomNormal(40, 4, 11) + 1;
  const auto pairs = [](const at::Tensor& rows_ND) {
    const auto n = static_cast<double>(rows_ND.size(0));
    return ((rows_ND.sum(0).square().sum() - rows_ND.square().sum()) /
            (n * (n - 1) * 4))
        .item<double>();
  };
  const double expected = pairs(x_ND) + pairs(y_MD) -
                          (x_ND.mean(0).dot(y_MD.mean(0)) / 2).item<double>();
  ASSERT_OK_AND_ASSIGN(
      const MeanAndSd distance,
      KernelDistance(x_ND, y_MD,
                     {.num_subsets = 1, .subset_rows = 40, .degree = 1}));
  EXPECT_NEAR(distance.mean, expected, 1e-12);
  EXPECT_THAT(
      KernelDistance(x_ND, y_MD, {.subset_rows = 40, .degree = 0}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("degree 0")));
}

TEST(KernelDistanceTest, BadInput) {
  const at::Tensor x_ND = RandomNormal(10, 4, 9);
  EXPECT_THAT(
      KernelDistance(x_ND, x_ND, {.subset_rows = 11}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("N >= 11")));
  EXPECT_THAT(KernelDistance(x_ND, x_ND, {.subset_rows = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(KernelDistance(x_ND, x_ND, {.num_subsets = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(KernelDistance(x_ND, RandomNormal(10, 5, 9), {.subset_rows = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("different networks")));
  const at::Tensor rows = torch::tensor({{0, 9}}, at::kLong);
  EXPECT_OK(KernelDistanceOfSubsets(x_ND, x_ND, rows, rows));
  EXPECT_THAT(KernelDistanceOfSubsets(x_ND, x_ND, rows, rows + 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("generated row 10 is not in [0, 9]")));
  EXPECT_THAT(KernelDistanceOfSubsets(x_ND, x_ND, rows, rows.repeat({2, 1})),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace gandem
