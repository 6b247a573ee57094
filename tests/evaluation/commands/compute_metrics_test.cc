// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/compute_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evaluation/metrics/intra_class_distance.h"
#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
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
                                 "is, kid, prdc, intra_fid")));
}

class IntraClassTest : public ::testing::Test {
 protected:
  FeatureStore Store(const std::string& name, const at::Tensor& features_ND) {
    const FeatureStore store = *FeatureStore::Create(dir_ / name, {});
    EXPECT_OK(store.Write({.first = 0, .count = features_ND.size(0)},
                          {.features_ND = features_ND}));
    return store;
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

TEST_F(IntraClassTest, GivesTheMeanAndEachClass) {
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

TEST_F(IntraClassTest, AClassWithoutImagesIsNamed) {
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
