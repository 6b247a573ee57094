// SPDX-License-Identifier: Apache-2.0
#include "extras/fid_infinity/extrapolated_distance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::Golden;
using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

FrechetReference ReferenceOf(const at::Tensor& features_ND) {
  return *FrechetReference::Create(*MomentsOf(features_ND));
}

// tests/oracles/distance_goldens.py
TEST(ExtrapolatedDistanceTest, EqualsNumpyForTheSameSubsets) {
  const Golden golden("distances.safetensors");
  std::vector<at::Tensor> subsets;
  while (golden.Has(absl::StrCat("rows.", subsets.size()))) {
    subsets.push_back(golden.Get(absl::StrCat("rows.", subsets.size())));
  }
  ASSERT_EQ(subsets.size(), 15u);
  ASSERT_OK_AND_ASSIGN(
      const double distance,
      ExtrapolatedDistanceOfSubsets(ReferenceOf(golden.Get("reference")),
                                    golden.Get("generated"), subsets));
  const auto expected = golden.Get("fid_infinity").item<double>();
  EXPECT_NEAR(distance, expected, 1e-9 * expected);
}

TEST(ExtrapolatedDistanceTest, SizesEqualNumpysLinspace) {
  const Golden golden("distances.safetensors");
  const at::Tensor sizes = golden.Get("sizes");
  const auto* const expected = sizes.const_data_ptr<int64_t>();
  EXPECT_EQ(ExtrapolationSizes(400),
            std::vector<int64_t>(expected, expected + sizes.numel()));
  const std::vector<int64_t> paper = ExtrapolationSizes(50000);
  EXPECT_EQ(paper.front(), 5000);
  EXPECT_EQ(paper[1], 8214);
  EXPECT_EQ(paper.back(), 50000);
  EXPECT_EQ(paper.size(), 15u);
}

// The distance of two sets from one distribution is all bias, and most of it is
// removed.
TEST(ExtrapolatedDistanceTest, RemovesTheBiasOfFewImages) {
  const FrechetReference reference = ReferenceOf(RandomNormal(50000, 4, 1));
  const at::Tensor features_ND = RandomNormal(600, 4, 2);
  ASSERT_OK_AND_ASSIGN(const Moments moments, MomentsOf(features_ND));
  ASSERT_OK_AND_ASSIGN(const double plain, reference.DistanceTo(moments));
  ASSERT_OK_AND_ASSIGN(const double extrapolated,
                       ExtrapolatedDistance(reference, features_ND));
  EXPECT_LT(std::abs(extrapolated), 0.7 * plain);
}

TEST(ExtrapolatedDistanceTest, SubsetsDependOnlyOnTheSeed) {
  const FrechetReference reference = ReferenceOf(RandomNormal(200, 4, 1));
  const at::Tensor features_ND = RandomNormal(200, 4, 2);
  EXPECT_EQ(*ExtrapolatedDistance(reference, features_ND, 3),
            *ExtrapolatedDistance(reference, features_ND, 3));
  EXPECT_NE(*ExtrapolatedDistance(reference, features_ND, 3),
            *ExtrapolatedDistance(reference, features_ND, 4));
}

TEST(ExtrapolatedDistanceTest, WrongInput) {
  const FrechetReference reference = ReferenceOf(RandomNormal(200, 4, 1));
  const at::Tensor features_ND = RandomNormal(200, 4, 2);
  EXPECT_THAT(
      ExtrapolatedDistance(reference, RandomNormal(149, 4, 2)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("N >= 150")));
  const at::Tensor rows_N = torch::arange(100, at::kLong);
  EXPECT_THAT(
      ExtrapolatedDistanceOfSubsets(reference, features_ND, {rows_N, rows_N}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two sizes")));
  EXPECT_THAT(
      ExtrapolatedDistanceOfSubsets(reference, features_ND, {rows_N + 101}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("row 200 of a subset to extrapolate from is not in "
                         "[0, 199]")));
  EXPECT_THAT(
      ExtrapolatedDistanceOfSubsets(reference, features_ND,
                                    {rows_N.to(at::kDouble)}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not int64")));
}

}  // namespace
}  // namespace gandem
