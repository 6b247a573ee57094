// SPDX-License-Identifier: Apache-2.0
//
// Values that float32 holds give the same bits as float32 and as float64, so an
// evaluation may keep features in either type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evaluation/metrics/feature_moments.h"
#include "evaluation/metrics/frechet_distance.h"
#include "evaluation/metrics/inception_score.h"
#include "evaluation/metrics/kernel_distance.h"
#include "evaluation/metrics/precision_recall.h"
#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

struct BothSets {
  at::Tensor x_ND;
  at::Tensor y_MD;
};

// Sets far from zero, where float32 arithmetic would lose digits.
BothSets FloatSets() {
  return {.x_ND = (testing::RandomNormal(200, 6, 1) + 10).to(at::kFloat),
          .y_MD = (testing::RandomNormal(180, 6, 2) + 11).to(at::kFloat)};
}

TEST(FloatFeaturesTest, EveryMetricHasTheBitsOfDoubles) {
  const BothSets narrow = FloatSets();
  const BothSets wide = {.x_ND = narrow.x_ND.to(at::kDouble),
                         .y_MD = narrow.y_MD.to(at::kDouble)};
  const auto values = [](const BothSets& sets) {
    const auto& [x_ND, y_MD] = sets;
    const auto reference = FrechetReference::Create(*MomentsOf(x_ND));
    const auto prdc = ComputePrecisionRecall(x_ND, y_MD);
    const auto kid = KernelDistance(x_ND, y_MD, {.subset_rows = 50});
    const auto is = InceptionScore(x_ND);
    return std::vector<double>{*reference->DistanceTo(*MomentsOf(y_MD)),
                               prdc->density,
                               prdc->coverage,
                               kid->mean,
                               kid->sd,
                               is->mean,
                               is->sd};
  };
  EXPECT_EQ(values(narrow), values(wide));
}

TEST(FloatFeaturesTest, MomentsOfRowsAreThoseOfACopy) {
  const at::Tensor x_ND = FloatSets().x_ND;
  const at::Tensor rows_N =
      torch::arange(199, -1, -1, at::kLong).remainder(150);
  ASSERT_OK_AND_ASSIGN(const Moments rows, MomentsOfRows(x_ND, rows_N));
  ASSERT_OK_AND_ASSIGN(const Moments copy,
                       MomentsOf(x_ND.to(at::kDouble).index_select(0, rows_N)));
  EXPECT_EQ(rows.count, 200);
  EXPECT_TRUE(rows.mean_D.equal(copy.mean_D));
  EXPECT_TRUE(rows.covariance_DD.equal(copy.covariance_DD));
}

}  // namespace
}  // namespace gandem
