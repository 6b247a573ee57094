// SPDX-License-Identifier: Apache-2.0
//
// `cmmd` as an evaluation computes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evaluation/judging/compute_metrics.h"
#include "extras/vit_features/gaussian_discrepancy.h"
#include "models/torch.h"
#include "tests/evaluation/judging/stored_features.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::StoreFeatures;
using ::gandem::testing::TempDir;

constexpr int64_t kCmmdDim = 4;

TEST(CmmdTest, IsTheDiscrepancyOfBothSides) {
  const TempDir dir;
  const at::Tensor generated_ND = RandomNormal(200, kCmmdDim, 1) + 1;
  const at::Tensor reference_ND = RandomNormal(121, kCmmdDim, 2);
  const FeatureStore images = StoreFeatures(dir / "images", generated_ND);
  const FeatureStore reference = StoreFeatures(dir / "reference", reference_ND);
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Metric> metrics,
      ComputeMetrics({.name = "net",
                      .sha256 = {},
                      .feature_dim = kCmmdDim,
                      .resize = {},
                      .family = kClipFamily},
                     {.store = &images, .num_images = 200},
                     FeatureSide{.store = &reference, .num_images = 121},
                     std::nullopt, {.metrics = {.clip_discrepancy = true}}));
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].name(), "CMMD(net)");
  EXPECT_EQ(metrics[0].value(),
            *GaussianDiscrepancy(reference_ND, generated_ND));
  EXPECT_EQ(metrics[0].num_images(), 200);
  EXPECT_EQ(metrics[0].num_reference_images(), 121);
}

TEST(CmmdTest, FeaturesOfFloat32HaveTheBitsOfDoubles) {
  const at::Tensor x_ND = (RandomNormal(200, kCmmdDim, 1) + 10).to(at::kFloat);
  const at::Tensor y_MD = (RandomNormal(180, kCmmdDim, 2) + 11).to(at::kFloat);
  EXPECT_EQ(*GaussianDiscrepancy(x_ND, y_MD),
            *GaussianDiscrepancy(x_ND.to(at::kDouble), y_MD.to(at::kDouble)));
}

}  // namespace
}  // namespace gandem
