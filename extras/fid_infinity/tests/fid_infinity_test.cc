// SPDX-License-Identifier: Apache-2.0
//
// `fid_infinity` as an evaluation computes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evaluation/judging/compute_metrics.h"
#include "evaluation/judging/extra_metric.h"
#include "extras/fid_infinity/extrapolated_distance.h"
#include "extras/fid_infinity/sampling_bias.h"
#include "models/torch.h"
#include "tests/evaluation/judging/stored_features.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {

ExtraMetric FidInfinityMetric();

namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;
using ::gandem::testing::StoreFeatures;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;

constexpr int64_t kFidInfinityDim = 4;

FeatureNet FidInfinityNet() {
  return {.name = "net",
          .sha256 = {},
          .feature_dim = kFidInfinityDim,
          .resize = {}};
}

// Only the generated images count: the reference may be mere statistics.
TEST(FidInfinityTest, NeedsImagesToExtrapolateFrom) {
  const MetricOptions options = {.metrics = *ParseMetrics("fid_infinity")};
  EXPECT_TRUE(options.metrics.needs_reference());
  EXPECT_FALSE(options.metrics.needs_reference_features());
  EXPECT_OK(CheckNumImages(options, 150, 2));
  EXPECT_OK(CheckNumImages(options, 150, 0));
  EXPECT_THAT(CheckNumImages(options, 149, 500),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("fid_infinity needs 150 images to draw its "
                                 "subsets from, but there are only 149")));
}

// Computed without `fid`, with statistics as the reference.
TEST(FidInfinityTest, IsTheExtrapolatedDistance) {
  const TempDir dir;
  const at::Tensor generated_ND = RandomNormal(200, kFidInfinityDim, 1) + 1;
  const FeatureStore images = StoreFeatures(dir / "images", generated_ND);
  ASSERT_OK_AND_ASSIGN(const Moments moments,
                       MomentsOf(RandomNormal(121, kFidInfinityDim, 2)));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Metric> metrics,
      ComputeMetrics(FidInfinityNet(), {.store = &images, .num_images = 200},
                     std::nullopt, moments,
                     {.metrics = {.extrapolated = true}}));
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].name(), "FD(net)-infinity");
  EXPECT_EQ(
      metrics[0].value(),
      *ExtrapolatedDistance(*FrechetReference::Create(moments), generated_ND));
  EXPECT_EQ(metrics[0].num_images(), 200);
  EXPECT_EQ(metrics[0].num_reference_images(), 121);
}

// `fid` has a bias even if fid_infinity is not computed.
TEST(FidInfinityTest, EveryDistanceGetsItsBias) {
  ASSERT_OK_AND_ASSIGN(const Moments images,
                       MomentsOf(RandomNormal(200, kFidInfinityDim, 1)));
  ASSERT_OK_AND_ASSIGN(const Moments reference,
                       MomentsOf(RandomNormal(121, kFidInfinityDim, 2)));
  ASSERT_OK_AND_ASSIGN(const Metric metric,
                       DistanceOfMoments(FidInfinityNet(), images, reference));
  EXPECT_EQ(metric.predicted_bias(),
            PredictedSamplingBias(
                FrechetReference::Create(reference)->eigenvalues(), 200, 121,
                /*rows=*/121));
  EXPECT_GT(metric.predicted_bias(), 0);
}

TEST(FidInfinityTest, WarnsIfSubsetsAreTooSmall) {
  const ExtraMetric metric = FidInfinityMetric();
  MetricCard card;
  metric.warn(20480, 2048, card);
  EXPECT_EQ(card.warnings_size(), 0);
  metric.warn(20470, 2048, card);
  ASSERT_EQ(card.warnings_size(), 1);
  EXPECT_THAT(card.warnings(0),
              HasSubstr("subsets of 2047 images, but features "
                        "have 2048 dimensions"));
}

TEST(FidInfinityTest, FeaturesOfFloat32HaveTheBitsOfDoubles) {
  const at::Tensor narrow_ND =
      (RandomNormal(180, kFidInfinityDim, 2) + 11).to(at::kFloat);
  const auto reference = FrechetReference::Create(
      *MomentsOf((RandomNormal(200, kFidInfinityDim, 1) + 10).to(at::kFloat)));
  EXPECT_EQ(*ExtrapolatedDistance(*reference, narrow_ND),
            *ExtrapolatedDistance(*reference, narrow_ND.to(at::kDouble)));
}

}  // namespace
}  // namespace gandem
