// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/feature_moments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

double FeatureMomentsMaxError(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(FeatureMomentsTest, EqualsTheDefinition) {
  const at::Tensor x_ND = RandomNormal(1000, 7, 1) * 3 + 5;
  ASSERT_OK_AND_ASSIGN(const Moments moments, MomentsOf(x_ND));
  EXPECT_EQ(moments.count, 1000);
  EXPECT_EQ(moments.dim(), 7);
  EXPECT_LE(FeatureMomentsMaxError(moments.mean_D, x_ND.mean(0)), 1e-13);
  EXPECT_LE(FeatureMomentsMaxError(moments.covariance_DD, x_ND.t().cov()),
            1e-12);
  EXPECT_TRUE(at::equal(moments.covariance_DD, moments.covariance_DD.t()));
  EXPECT_FALSE(moments.root_ND.defined());
}

// A mean of 1e8 takes 16 of the 17 digits of a sum of squares.
TEST(FeatureMomentsTest, NothingCancelsFarFromZero) {
  const at::Tensor x_ND = RandomNormal(3000, 5, 2).mul(1024).round() / 1024;
  ASSERT_OK_AND_ASSIGN(const Moments near_zero, MomentsOf(x_ND));
  ASSERT_OK_AND_ASSIGN(const Moments far, MomentsOf(x_ND + 1e8));
  EXPECT_LE(FeatureMomentsMaxError(near_zero.covariance_DD, far.covariance_DD),
            1e-8);
}

TEST(FeatureMomentsTest, AnyChunksAgreeToRounding) {
  const at::Tensor x_ND = RandomNormal(300, 6, 4) + 10;
  FeatureMoments sum(6);
  ASSERT_OK(sum.Add(x_ND.slice(0, 10, 200)));
  ASSERT_OK(sum.Add(x_ND.slice(0, 200, 300)));
  ASSERT_OK(sum.Add(x_ND.slice(0, 0, 10)));
  ASSERT_OK_AND_ASSIGN(const Moments moments, sum.Finish());
  EXPECT_EQ(moments.count, 300);
  EXPECT_LE(FeatureMomentsMaxError(moments.covariance_DD, x_ND.t().cov()),
            1e-12);
}

TEST(FeatureMomentsTest, FewRowsKeepARootOfTheCovariance) {
  const at::Tensor x_ND = RandomNormal(64 + 36, 100, 5) + 2;
  FeatureMoments sum(100);
  ASSERT_OK(sum.Add(x_ND.slice(0, 0, 64)));
  ASSERT_OK(sum.Add(x_ND.slice(0, 64, 100)));
  ASSERT_OK_AND_ASSIGN(const Moments full, sum.Finish());
  ASSERT_TRUE(full.root_ND.defined());
  EXPECT_LE(FeatureMomentsMaxError(full.root_ND.t().mm(full.root_ND),
                                   full.covariance_DD),
            1e-12);
  ASSERT_OK(sum.Add(x_ND.slice(0, 0, 1)));
  ASSERT_OK_AND_ASSIGN(const Moments more, sum.Finish());
  EXPECT_FALSE(more.root_ND.defined());
}

// The features belong to the caller, who may overwrite them.
TEST(FeatureMomentsTest, KeepsNoReferenceToTheRows) {
  at::Tensor x_ND = RandomNormal(8, 20, 6);
  FeatureMoments sum(20);
  ASSERT_OK(sum.Add(x_ND));
  ASSERT_OK_AND_ASSIGN(const Moments before, sum.Finish());
  x_ND.zero_();
  ASSERT_OK_AND_ASSIGN(const Moments after, sum.Finish());
  EXPECT_TRUE(at::equal(before.root_ND, after.root_ND));
}

TEST(FeatureMomentsTest, BadFeaturesChangeNothing) {
  FeatureMoments sum(3);
  EXPECT_THAT(sum.Finish(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("2 images or more")));
  ASSERT_OK(sum.Add(RandomNormal(4, 3, 7)));
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    at::Tensor x_ND = RandomNormal(4, 3, 8);
    x_ND[2][1] = bad;
    EXPECT_THAT(sum.Add(x_ND),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("row 2"), HasSubstr("1 of 4"))));
  }
  EXPECT_THAT(sum.Add(RandomNormal(4, 2, 9)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(sum.Add(RandomNormal(4, 3, 9).to(at::kLong)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Long [4, 3] on cpu")));
  ASSERT_OK_AND_ASSIGN(const Moments moments, sum.Finish());
  EXPECT_EQ(moments.count, 4);
  EXPECT_LE(FeatureMomentsMaxError(moments.covariance_DD,
                                   RandomNormal(4, 3, 7).t().cov()),
            1e-14);
}

// A sum may overflow though every number is finite.
TEST(FeatureMomentsTest, LargeFiniteNumbersAreNoNaN) {
  FeatureMoments sum(1);
  EXPECT_OK(sum.Add(torch::full({3, 1}, 1e308, at::kDouble)));
}

}  // namespace
}  // namespace gandem
