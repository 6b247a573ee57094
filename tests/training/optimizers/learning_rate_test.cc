// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gandem {
namespace {

using Shape = RateSchedule::Shape;

TEST(RateScheduleTest, ConstantByDefault) {
  const RateSchedule schedule;
  EXPECT_EQ(schedule.Factor(0), 1);
  EXPECT_EQ(schedule.Factor(1'000'000), 1);
}

// Chainer's SNGAN: from 0 over all rounds to 0, which the last one does not
// reach.
TEST(RateScheduleTest, LinearDecayToTheEnd) {
  const RateSchedule schedule{.shape = Shape::kLinear,
                              .decay_until_round = 100};
  EXPECT_EQ(schedule.Factor(0), 1);
  EXPECT_DOUBLE_EQ(schedule.Factor(1), 0.99);
  EXPECT_NEAR(schedule.Factor(99), 0.01, 1e-15);
  EXPECT_EQ(schedule.Factor(100), 0);
  EXPECT_EQ(schedule.Factor(1000), 0);
}

// pix2pix: constant for a while, then linear.
TEST(RateScheduleTest, DecayBeginsAndEndsWhereItIsTold) {
  const RateSchedule schedule{.shape = Shape::kLinear,
                              .decay_from_round = 100,
                              .decay_until_round = 200,
                              .final_factor = 0.2};
  EXPECT_EQ(schedule.Factor(100), 1);
  EXPECT_DOUBLE_EQ(schedule.Factor(150), 0.6);
  EXPECT_DOUBLE_EQ(schedule.Factor(200), 0.2);
  EXPECT_DOUBLE_EQ(schedule.Factor(900), 0.2);
}

TEST(RateScheduleTest, CosineDecay) {
  const RateSchedule schedule{
      .shape = Shape::kCosine, .decay_until_round = 90, .final_factor = 0.1};
  EXPECT_EQ(schedule.Factor(0), 1);
  EXPECT_DOUBLE_EQ(schedule.Factor(30), 0.1 + 0.9 * 0.75);
  EXPECT_DOUBLE_EQ(schedule.Factor(45), 0.55);
  EXPECT_DOUBLE_EQ(schedule.Factor(90), 0.1);
}

TEST(RateScheduleTest, WarmUpClimbsToTheShape) {
  const RateSchedule schedule{
      .shape = Shape::kLinear, .warmup_rounds = 4, .decay_until_round = 8};
  EXPECT_DOUBLE_EQ(schedule.Factor(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.Factor(2), 0.75 * 0.75);
  EXPECT_DOUBLE_EQ(schedule.Factor(3), 1 * 0.625);
  EXPECT_DOUBLE_EQ(schedule.Factor(4), 0.5);
}

TEST(BatchFactorTest, Rules) {
  EXPECT_EQ(BatchFactor(BatchScaling::kNone, 256, 64), 1);
  EXPECT_EQ(BatchFactor(BatchScaling::kSqrt, 256, 64), 2);
  EXPECT_EQ(BatchFactor(BatchScaling::kLinear, 256, 64), 4);
  EXPECT_EQ(BatchFactor(BatchScaling::kLinear, 16, 64), 0.25);
}

}  // namespace
}  // namespace gandem
