// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/learning_rate.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace gandem {
namespace {

RateScheduleConfig RateScheduleOf(const std::string& text) {
  RateScheduleConfig schedule;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &schedule));
  return schedule;
}

// Compares with a count of the updates.
TEST(StepOfUpdateTest, EveryLazyStepHasTwoUpdates) {
  for (const int64_t lazy_every : {0, 1, 4, 16}) {
    int64_t update = 0;
    for (int64_t step = 0; step < 50; ++step) {
      const bool is_lazy = lazy_every > 0 && step % lazy_every == 0;
      for (int i = 0; i < (is_lazy ? 2 : 1); ++i) {
        EXPECT_EQ(StepOfUpdate(++update, lazy_every), step) << lazy_every;
      }
    }
  }
}

TEST(RateFactorTest, TheRateIsConstantByDefault) {
  const RateScheduleConfig schedule;
  EXPECT_EQ(RateFactor(schedule, 10, 0), 1);
  EXPECT_EQ(RateFactor(schedule, 10, 1'000'000), 1);
}

// Chainer's SNGAN decays linearly over all rounds to 0, which the last round
// does not reach.
TEST(RateFactorTest, TheRateDecaysLinearlyToTheEnd) {
  const RateScheduleConfig schedule = RateScheduleOf("shape: LINEAR");
  EXPECT_EQ(RateFactor(schedule, 100, 0), 1);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 100, 1), 0.99);
  EXPECT_NEAR(RateFactor(schedule, 100, 99), 0.01, 1e-15);
  EXPECT_EQ(RateFactor(schedule, 100, 100), 0);
  EXPECT_EQ(RateFactor(schedule, 100, 1000), 0);
}

// pix2pix: constant for a while, then linear.
TEST(RateFactorTest, DecayBeginsAndEndsWhereItIsTold) {
  const RateScheduleConfig schedule = RateScheduleOf(
      "shape: LINEAR decay_from_round: 100 decay_until_round: 200 "
      "final_factor: 0.2");
  EXPECT_EQ(RateFactor(schedule, 1000, 100), 1);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 1000, 150), 0.6);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 1000, 200), 0.2);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 1000, 900), 0.2);
}

TEST(RateFactorTest, CosineDecay) {
  const RateScheduleConfig schedule =
      RateScheduleOf("shape: COSINE final_factor: 0.1");
  EXPECT_EQ(RateFactor(schedule, 90, 0), 1);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 90, 30), 0.1 + 0.9 * 0.75);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 90, 45), 0.55);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 90, 90), 0.1);
}

TEST(RateFactorTest, WarmUpClimbsToTheShape) {
  const RateScheduleConfig schedule =
      RateScheduleOf("shape: LINEAR warmup_rounds: 4");
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 8, 0), 0.25);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 8, 2), 0.75 * 0.75);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 8, 3), 1 * 0.625);
  EXPECT_DOUBLE_EQ(RateFactor(schedule, 8, 4), 0.5);
}

TEST(BatchFactorTest, Rules) {
  EXPECT_EQ(BatchFactor(BATCH_NONE, 256, 64), 1);
  EXPECT_EQ(BatchFactor(BATCH_SQRT, 256, 64), 2);
  EXPECT_EQ(BatchFactor(BATCH_LINEAR, 256, 64), 4);
  EXPECT_EQ(BatchFactor(BATCH_LINEAR, 16, 64), 0.25);
}

}  // namespace
}  // namespace gandem
