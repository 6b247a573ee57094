// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/intra_class_distance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evaluation/metrics/feature_moments.h"
#include "evaluation/metrics/frechet_distance.h"
#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

at::Tensor Alternating(int64_t rows, int64_t num_classes) {
  return torch::arange(rows, at::kLong).remainder(num_classes);
}

TEST(IntraClassDistanceTest, IsTheDistanceOfEachClassAndTheirMean) {
  const at::Tensor x_ND = RandomNormal(90, 4, 1);
  const at::Tensor y_MD = RandomNormal(60, 4, 2) + 1;
  ASSERT_OK_AND_ASSIGN(const IntraClassDistance distance,
                       ComputeIntraClassDistance(x_ND, Alternating(90, 3), y_MD,
                                                 Alternating(60, 3), 3));
  ASSERT_EQ(distance.of_class.size(), 3);
  double sum = 0;
  for (int64_t label = 0; label < 3; ++label) {
    ASSERT_OK_AND_ASSIGN(const Moments x,
                         MomentsOf(x_ND.slice(0, label, 90, 3).contiguous()));
    ASSERT_OK_AND_ASSIGN(const Moments y,
                         MomentsOf(y_MD.slice(0, label, 60, 3).contiguous()));
    ASSERT_OK_AND_ASSIGN(const double expected, FrechetDistance(x, y));
    EXPECT_NEAR(distance.of_class[static_cast<size_t>(label)], expected, 1e-12);
    sum += expected;
  }
  EXPECT_NEAR(distance.mean, sum / 3, 1e-12);
}

// What the distance of whole sets cannot see: labels that mean nothing.
TEST(IntraClassDistanceTest, SeesIgnoredLabels) {
  const at::Tensor labels = Alternating(200, 2);
  const at::Tensor x_ND =
      RandomNormal(200, 3, 3) + 10 * labels.to(at::kDouble).unsqueeze(1);
  ASSERT_OK_AND_ASSIGN(
      const IntraClassDistance right,
      ComputeIntraClassDistance(x_ND, labels, x_ND, labels, 2));
  ASSERT_OK_AND_ASSIGN(
      const IntraClassDistance swapped,
      ComputeIntraClassDistance(x_ND, labels, x_ND, 1 - labels, 2));
  EXPECT_NEAR(right.mean, 0, 1e-10);
  EXPECT_GT(swapped.mean, 250);
}

TEST(IntraClassDistanceTest, BadInput) {
  const at::Tensor x_ND = RandomNormal(10, 3, 4);
  const at::Tensor labels = Alternating(10, 2);
  const auto compute = [&](const at::Tensor& theirs, int64_t num_classes) {
    return ComputeIntraClassDistance(x_ND, labels, x_ND, theirs, num_classes)
        .status();
  };
  EXPECT_THAT(compute(labels, 3),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("class 2"), HasSubstr("0 reference"))));
  EXPECT_THAT(compute(labels * 0, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("class 1"), HasSubstr("generated"))));
  EXPECT_THAT(compute(labels * 2, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("label 2 of row 1"),
                             HasSubstr("not in [0, 1]"))));
  EXPECT_THAT(compute(labels.slice(0, 0, 9), 2),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(compute(labels.to(at::kInt), 2),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(compute(labels, 0), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace gandem
