// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/compute_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evaluation/judging/extra_metric.h"
#include "evaluation/metrics/intra_class_distance.h"
#include "models/torch.h"
#include "tests/evaluation/judging/stored_features.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kComputeMetricsClasses = 3;
constexpr int64_t kComputeMetricsDim = 4;

TEST(MetricSetTest, ReadsNamesInAnyOrder) {
  ASSERT_OK_AND_ASSIGN(const MetricSet metrics, ParseMetrics("intra_fid,fid"));
  EXPECT_TRUE(metrics.intra_class);
  EXPECT_TRUE(metrics.frechet);
  EXPECT_FALSE(metrics.kernel_distance);
  EXPECT_TRUE(metrics.needs_reference_features());
  EXPECT_EQ(MetricSetText(metrics), "fid-intra_fid");
  EXPECT_THAT(ParseMetrics("fid,fud").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'fud' of --metric fid,fud is none of fid, "
                                 "is, kid, prdc, intra_fid, fid_infinity, "
                                 "cmmd, lpips, ppl")));
}

// Each has pairs of its own, and another network than features of images.
TEST(MetricSetTest, MetricsOfPairsGoByThemselves) {
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
                         HasSubstr("net is none: name its weights with "
                                   "--features lpips:FILE")));
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

// Whatever would fail after hours of features is found out before.
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
                       HasSubstr("fid needs 2, and there are 1 images of the "
                                 "reference")));
  EXPECT_THAT(check("kid", 999, 1000),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("(--kid_subset) needs 1000, and there are 999 "
                                 "images to judge")));
  EXPECT_THAT(check("prdc", 6, 5), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("needs 6, and")));
  EXPECT_THAT(check("is", 9, 0), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("10 parts (--splits)")));
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

TEST(PreconditionsTest, AClassWithoutImages) {
  const at::Tensor labels_N = torch::tensor({0, 0, 2, 2, 1}, at::kLong);
  EXPECT_OK(CheckClasses("x", labels_N, 1));
  EXPECT_THAT(CheckClasses("the reference", labels_N, 3),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("class 1 has 1 of the reference")));
  EXPECT_THAT(
      CheckClasses("x", torch::tensor({0, 0, 2, 2, 1, 1}, at::kLong), 4),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("class 3 has 0 of x")));
}

TEST(PreconditionsTest, CmmdIsOfClip) {
  FeatureNet net;
  net.name = "net";
  EXPECT_THAT(CheckNetwork({.clip_discrepancy = true}, net),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("net is none: name one with --features "
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
  static at::Tensor Labels(int64_t count) {
    return torch::arange(count).remainder(kComputeMetricsClasses);
  }

  gandem::testing::TempDir dir_;
  const FeatureNet net_ = {.name = "net",
                           .sha256 = {},
                           .feature_dim = kComputeMetricsDim,
                           .resize = {}};
};

TEST_F(ComputeMetricsTest, IntraClassGivesTheMeanAndEachClass) {
  const at::Tensor generated_ND =
      gandem::testing::RandomNormal(100, kComputeMetricsDim, 1);
  const at::Tensor reference_ND =
      gandem::testing::RandomNormal(121, kComputeMetricsDim, 2);
  const FeatureStore images = Store("images", generated_ND);
  const FeatureStore reference = Store("reference", reference_ND);
  ASSERT_OK_AND_ASSIGN(
      const IntraClassDistance expected,
      ComputeIntraClassDistance(reference_ND, Labels(121), generated_ND,
                                Labels(100), kComputeMetricsClasses));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Metric> metrics,
      ComputeMetrics(
          net_, {.store = &images, .num_images = 100, .labels_N = Labels(100)},
          FeatureSide{
              .store = &reference, .num_images = 121, .labels_N = Labels(121)},
          std::nullopt,
          {.metrics = {.intra_class = true},
           .num_classes = kComputeMetricsClasses}));
  ASSERT_EQ(metrics.size(), 1u + kComputeMetricsClasses);
  EXPECT_EQ(metrics[0].name(), "intra-FD(net)");
  EXPECT_EQ(metrics[0].value(), expected.mean);
  EXPECT_EQ(metrics[0].num_images(), 100);
  EXPECT_EQ(metrics[0].num_reference_images(), 121);
  for (size_t label = 0; label < kComputeMetricsClasses; ++label) {
    const Metric& metric = metrics[1 + label];
    EXPECT_EQ(metric.name(), absl::StrCat("intra-FD(net) class ", label));
    EXPECT_EQ(metric.value(), expected.of_class[label]);
    EXPECT_EQ(metric.num_images(), label == 0 ? 34 : 33);
    EXPECT_EQ(metric.num_reference_images(), label == 0 ? 41 : 40);
  }
}

// A network that sees nothing would win every comparison.
TEST_F(ComputeMetricsTest, FeaturesThatDoNotVaryAreRefused) {
  const at::Tensor varied_ND =
      gandem::testing::RandomNormal(200, kComputeMetricsDim, 1);
  for (const at::Tensor& equal_ND :
       {torch::zeros_like(varied_ND),
        // What float32 rounds differently in another batch is no variance.
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
                   HasSubstr("the images to judge: net gives all images the "
                             "same features")));
      EXPECT_THAT(
          ComputeMetrics(net_, varied_side, equal_side, *MomentsOf(equal_ND),
                         options)
              .status(),
          StatusIs(absl::StatusCode::kDataLoss,
                   AllOf(HasSubstr("the reference: net gives all images the "
                                   "same features"),
                         HasSubstr("--features names another one"))));
    }
    EXPECT_THAT(
        DistanceOfMoments(net_, *MomentsOf(varied_ND), *MomentsOf(equal_ND))
            .status(),
        StatusIs(absl::StatusCode::kDataLoss, HasSubstr("the reference: net")));
    EXPECT_THAT(
        DistanceOfMoments(net_, *MomentsOf(equal_ND), *MomentsOf(varied_ND))
            .status(),
        StatusIs(absl::StatusCode::kDataLoss,
                 HasSubstr("the images to judge: net")));
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
                       AllOf(HasSubstr("the images to judge, seen by net"),
                             HasSubstr("row 7"))));
}

TEST_F(ComputeMetricsTest, AClassWithoutImagesIsNamed) {
  const FeatureStore images =
      Store("images", gandem::testing::RandomNormal(4, kComputeMetricsDim, 1));
  EXPECT_THAT(
      ComputeMetrics(
          net_,
          {.store = &images,
           .num_images = 4,
           .labels_N = torch::tensor({0, 0, 2, 2}, at::kLong)},
          FeatureSide{.store = &images,
                      .num_images = 4,
                      .labels_N = torch::tensor({0, 0, 1, 1}, at::kLong)},
          std::nullopt, {.metrics = {.intra_class = true}, .num_classes = 3})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("class 1 has 0 generated images")));
}

}  // namespace
}  // namespace gandem
