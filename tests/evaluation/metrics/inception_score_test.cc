// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metrics/inception_score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;

// Rows that are certain of class 0, 1, ..., K - 1, 0, 1, ...
at::Tensor Certain(int64_t rows, int64_t num_classes) {
  return 1e4 *
         at::one_hot(torch::arange(rows, at::kLong).remainder(num_classes),
                     num_classes)
             .to(at::kDouble);
}

TEST(InceptionScoreTest, UniformRowsScoreOne) {
  ASSERT_OK_AND_ASSIGN(const MeanAndSd score,
                       InceptionScore(torch::zeros({100, 10}, at::kDouble)));
  EXPECT_NEAR(score.mean, 1, 1e-12);
  EXPECT_NEAR(score.sd, 0, 1e-12);
}

TEST(InceptionScoreTest, BalancedCertainRowsScoreTheNumberOfClasses) {
  for (const int64_t num_classes : {1, 2, 10, 1000}) {
    ASSERT_OK_AND_ASSIGN(const MeanAndSd score,
                         InceptionScore(Certain(3 * num_classes, num_classes),
                                        {.num_splits = 1}));
    EXPECT_NEAR(score.mean, static_cast<double>(num_classes),
                1e-9 * static_cast<double>(num_classes));
  }
}

TEST(InceptionScoreTest, CertainRowsOfOneClassScoreOne) {
  ASSERT_OK_AND_ASSIGN(
      const MeanAndSd score,
      InceptionScore(Certain(20, 10).slice(0, 0, 20, 10), {.num_splits = 2}));
  EXPECT_NEAR(score.mean, 1, 1e-12);
}

// The first split has 2 classes, the second one 4.
TEST(InceptionScoreTest, SplitsAreConsecutiveAndSdIsTheirs) {
  const at::Tensor logits = at::cat(
      {Certain(8, 4).index_select(0, torch::tensor({0, 1, 0, 1}, at::kLong)),
       Certain(4, 4)});
  ASSERT_OK_AND_ASSIGN(const MeanAndSd score, InceptionScoreInOrder(logits, 2));
  EXPECT_NEAR(score.mean, 3, 1e-12);
  EXPECT_NEAR(score.sd, 1, 1e-12);
}

// A folder may be sorted by class: without an order of rows, every split would
// have one class, and the score would be 1.
TEST(InceptionScoreTest, TheOrderOfTheRowsHardlyMatters) {
  const at::Tensor sorted = Certain(4, 4).repeat_interleave(1000, 0);
  ASSERT_OK_AND_ASSIGN(const MeanAndSd score, InceptionScore(sorted));
  EXPECT_NEAR(score.mean, 4, 0.05);
  ASSERT_OK_AND_ASSIGN(const MeanAndSd again, InceptionScore(sorted));
  EXPECT_EQ(score.mean, again.mean);
  ASSERT_OK_AND_ASSIGN(const MeanAndSd other,
                       InceptionScore(sorted, {.seed = 1}));
  EXPECT_NE(score.mean, other.mean);
}

TEST(InceptionScoreTest, EqualsTheDefinition) {
  const at::Tensor logits = RandomNormal(50, 6, 1) * 2;
  const at::Tensor p = logits.exp() / logits.exp().sum(1, /*keepdim=*/true);
  const double expected =
      std::exp((p * (p / p.mean(0)).log()).sum(1).mean().item<double>());
  ASSERT_OK_AND_ASSIGN(const MeanAndSd score, InceptionScoreInOrder(logits, 1));
  EXPECT_NEAR(score.mean, expected, 1e-12);
  ASSERT_OK_AND_ASSIGN(
      const MeanAndSd shifted,
      InceptionScoreInOrder(logits + 100 * RandomNormal(50, 1, 2), 1));
  EXPECT_NEAR(shifted.mean, expected, 1e-11);
}

TEST(InceptionScoreTest, BadInput) {
  const at::Tensor logits = RandomNormal(9, 3, 3);
  EXPECT_THAT(InceptionScore(logits),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(InceptionScore(logits, {.num_splits = 0}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(InceptionScore(at::Tensor()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(InceptionScore(logits / 0, {.num_splits = 1}),
              StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace gandem
