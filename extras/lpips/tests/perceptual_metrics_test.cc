// SPDX-License-Identifier: Apache-2.0
#include "extras/lpips/perceptual_metrics.h"

#include <gtest/gtest.h>

#include "evaluation/images/generated_images.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;

TEST(PerceptualMetricsTest, MeanDistance) {
  ASSERT_OK_AND_ASSIGN(
      const MeanAndSd distance,
      MeanDistance(torch::tensor({1.0, 2.0, 6.0}, at::kDouble).view({3, 1})));
  EXPECT_DOUBLE_EQ(distance.mean, 3);
  // The three distances have the standard deviation sqrt(7).
  EXPECT_NEAR(distance.sd, std::sqrt(7.0 / 3), 1e-12);
}

// d = arange(200.) ** 2; lo = percentile(d, 1, method="lower");
// hi = percentile(d, 99, method="higher"); d[(lo <= d) & (d <= hi)].mean()
TEST(PerceptualMetricsTest, PathLengthIgnoresExtremes) {
  const at::Tensor values = torch::arange(200, at::kDouble).square();
  const at::Tensor shuffled = values.index_select(
      0, torch::arange(200, at::kLong).mul(77).remainder(200));
  ASSERT_OK_AND_ASSIGN(
      const PathLength length,
      PerceptualPathLength(
          (shuffled * kPathEpsilon * kPathEpsilon).view({200, 1})));
  EXPECT_EQ(length.kept, 198);
  EXPECT_NEAR(length.mean, 13167.0 + 1.0 / 6, 1e-6);
  ASSERT_OK_AND_ASSIGN(const PathLength two,
                       PerceptualPathLength(torch::ones({2, 1}, at::kDouble)));
  EXPECT_EQ(two.kept, 2);
}

TEST(PerceptualMetricsTest, WrongInput) {
  for (const at::Tensor& bad :
       {torch::zeros({5, 2}, at::kDouble), torch::zeros({1, 1}, at::kDouble),
        torch::zeros({5, 1}), torch::zeros({5}, at::kDouble)}) {
    EXPECT_THAT(MeanDistance(bad).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(PerceptualPathLength(bad).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace gandem
