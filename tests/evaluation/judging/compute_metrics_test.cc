// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/compute_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/judging/extra_metric.h"
#include "models/torch.h"
#include "tests/evaluation/judging/stored_features.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kComputeMetricsDim = 4;

TEST(MetricSetTest, ReadsNamesInAnyOrder) {
  ASSERT_OK_AND_ASSIGN(const MetricSet metrics, ParseMetrics("prdc,fid"));
  EXPECT_TRUE(metrics.precision_recall);
  EXPECT_TRUE(metrics.frechet);
  EXPECT_FALSE(metrics.kernel_distance);
  EXPECT_TRUE(metrics.needs_reference_features());
  EXPECT_EQ(MetricSetText(metrics), "fid-prdc");
  EXPECT_THAT(ParseMetrics("fid,fud").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'fud' of --metric fid,fud is none of fid, "
                                 "is, kid, prdc, fid_infinity, cmmd, lpips, "
                                 "ppl")));
}

// Each needs pairs of its own, and another network than the other metrics.
TEST(MetricSetTest, MetricsOfPairsAreNotCombined) {
  for (const std::string name : {"lpips", "ppl"}) {
    ASSERT_OK_AND_ASSIGN(const MetricSet metrics, ParseMetrics(name));
    EXPECT_TRUE(metrics.takes_pairs());
    EXPECT_FALSE(metrics.needs_reference());
    EXPECT_EQ(MetricSetText(metrics), name);
    EXPECT_THAT(ParseMetrics("fid," + name).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("one command for each")));
    FeatureNet net;
    net.name = "net";
    EXPECT_THAT(CheckNetwork(metrics, net),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("net is another network: give LPIPS weights "
                                   "with --features lpips:FILE")));
    net.family = kLpipsFamily;
    EXPECT_OK(CheckNetwork(metrics, net));
    EXPECT_THAT(CheckNetwork({.frechet = true}, net),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("the weights are of LPIPS")));
  }
  EXPECT_FALSE(ParseMetrics("lpips,ppl").ok());
}

TEST(MetricSetTest, ABuildWithoutAnExtraNamesIt) {
  EXPECT_THAT(WantedExtraMetrics(*ParseMetrics("fid,cmmd"), {}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "metric cmmd: this gandem was built without the extra "
                       "`vit_features`; run scripts/build.sh"));
  ASSERT_OK_AND_ASSIGN(const std::vector<ExtraMetric> none,
                       WantedExtraMetrics(*ParseMetrics("fid,kid"), {}));
  EXPECT_TRUE(none.empty());
}

// Faults are found before hours go into features.
TEST(PreconditionsTest, TooFewImagesForAMetric) {
  const auto check = [](const std::string& metrics, int64_t num_images,
                        int64_t num_reference) {
    return CheckNumImages({.metrics = *ParseMetrics(metrics)}, num_images,
                          num_reference);
  };
  EXPECT_OK(check("fid,is,kid,prdc", 1000, 1000));
  EXPECT_OK(check("fid", 2, 0));  // statistics
  EXPECT_THAT(check("fid", 1000, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("fid needs 2 or more, but there are 1 "
                                 "reference images")));
  EXPECT_THAT(check("kid", 999, 1000),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("(--kid_subset) needs 1000 or more, but there "
                                 "are 999 images to evaluate")));
  EXPECT_THAT(check("prdc", 6, 5), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("needs 6 or more, but")));
  EXPECT_THAT(check("is", 9, 0), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("10 splits (--splits)")));
}

TEST(PreconditionsTest, ANetworkWithoutClasses) {
  FeatureNet net;
  net.name = "net";
  EXPECT_OK(CheckNetwork({.frechet = true}, net));
  EXPECT_THAT(CheckNetwork({.inception_score = true}, net),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("net has none: leave out `is`")));
  net.num_classes = 2;
  EXPECT_OK(CheckNetwork({.inception_score = true}, net));
}

TEST(PreconditionsTest, CmmdNeedsClip) {
  FeatureNet net;
  net.name = "net";
  EXPECT_THAT(CheckNetwork({.clip_discrepancy = true}, net),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("net is another network: give --features "
                                 "clip:FILE")));
  net.family = kDinov2Family;
  EXPECT_FALSE(CheckNetwork({.clip_discrepancy = true}, net).ok());
  net.family = kClipFamily;
  EXPECT_OK(CheckNetwork({.clip_discrepancy = true}, net));
}

class ComputeMetricsTest : public ::testing::Test {
 protected:
  FeatureStore Store(const std::string& name, const at::Tensor& features_ND) {
    return gandem::testing::StoreFeatures(dir_ / name, features_ND);
  }

  gandem::testing::TempDir dir_;
  const FeatureNet net_ = {.name = "net",
                           .sha256 = {},
                           .feature_dim = kComputeMetricsDim,
                           .resize = {}};
};

// A network that sees nothing would make every distance 0.
TEST_F(ComputeMetricsTest, FeaturesThatDoNotVaryAreRefused) {
  const at::Tensor varied_ND =
      gandem::testing::RandomNormal(200, kComputeMetricsDim, 1);
  for (const at::Tensor& equal_ND :
       {torch::zeros_like(varied_ND),
        // Rounding of float32 in another batch is no variance.
        3 + 1e-7 * varied_ND}) {
    const FeatureStore varied = Store("varied", varied_ND);
    const FeatureStore equal = Store("equal", equal_ND);
    const FeatureSide varied_side = {.store = &varied, .num_images = 200};
    const FeatureSide equal_side = {.store = &equal, .num_images = 200};
    for (const std::string metric : {"fid", "kid", "prdc"}) {
      MetricOptions options = {.metrics = *ParseMetrics(metric)};
      options.kernel.subset_rows = 50;
      EXPECT_THAT(
          ComputeMetrics(net_, equal_side, varied_side, *MomentsOf(varied_ND),
                         options)
              .status(),
          StatusIs(absl::StatusCode::kDataLoss,
                   HasSubstr("the images to evaluate: net gives all images "
                             "the same features")));
      EXPECT_THAT(
          ComputeMetrics(net_, varied_side, equal_side, *MomentsOf(equal_ND),
                         options)
              .status(),
          StatusIs(absl::StatusCode::kDataLoss,
                   AllOf(HasSubstr("the reference: net gives all images the "
                                   "same features"),
                         HasSubstr("name another one with --features"))));
    }
    EXPECT_THAT(
        DistanceOfMoments(net_, *MomentsOf(varied_ND), *MomentsOf(equal_ND))
            .status(),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the reference: net")));
    EXPECT_THAT(
        DistanceOfMoments(net_, *MomentsOf(equal_ND), *MomentsOf(varied_ND))
            .status(),
        StatusIs(absl::StatusCode::kDataLoss,
                 HasSubstr("the images to evaluate: net")));
  }
}

TEST_F(ComputeMetricsTest, NaNIsRefusedWithItsSide) {
  at::Tensor bad_ND = gandem::testing::RandomNormal(20, kComputeMetricsDim, 1);
  bad_ND[7][1] = std::nan("");
  const FeatureStore bad = Store("bad", bad_ND);
  const FeatureStore good =
      Store("good", gandem::testing::RandomNormal(20, kComputeMetricsDim, 2));
  const MetricOptions options = {.metrics = {.precision_recall = true}};
  EXPECT_THAT(ComputeMetrics(net_, {.store = &bad, .num_images = 20},
                             FeatureSide{.store = &good, .num_images = 20},
                             std::nullopt, options)
                  .status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("the images to evaluate, seen by net"),
                             HasSubstr("row 7"))));
}

TEST(CardWarningsTest, FewImagesOfEitherSide) {
  MetricCard card;
  card.mutable_images()->set_num_images(2048);
  WarnOfFewImages(card);  // statistics of an unknown number as the reference
  EXPECT_THAT(card.warnings(), IsEmpty());
  card.mutable_images()->set_num_images(1000);
  card.mutable_reference()->set_num_images(2047);
  WarnOfFewImages(card);
  EXPECT_THAT(
      card.warnings(),
      ElementsAre("the evaluated set has only 1000 images, fewer than 2048, "
                  "which adds to the distance: compare it only with distances "
                  "of as many images",
                  HasSubstr("the reference has only 2047 images")));
}

TEST(CardWarningsTest, TwoSidesThatAreTheSame) {
  MetricCard card;
  WarnOfEqualSides(card);  // no hashes, no reference
  card.mutable_images()->set_sha256("0123456789abcdef");
  card.mutable_reference()->set_sha256("0123456789abcdee");
  WarnOfEqualSides(card);
  EXPECT_THAT(card.warnings(), IsEmpty());
  card.mutable_reference()->set_sha256("0123456789abcdef");
  WarnOfEqualSides(card);
  EXPECT_THAT(card.warnings(),
              ElementsAre(HasSubstr("are the same (sha256 0123456789ab)")));
}

}  // namespace
}  // namespace gandem
