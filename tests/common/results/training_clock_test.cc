// SPDX-License-Identifier: Apache-2.0
#include "common/results/training_clock.h"

#include <gtest/gtest.h>

#include "common/files/proto_json.h"

namespace gandem {
namespace {

void AddClockRound(RoundHistory& history, Role role, int64_t round,
                   double seconds, int64_t epoch = 1) {
  RoundMetrics metrics;
  metrics.set_role(role);
  metrics.set_run_epoch(epoch);
  metrics.set_round(round);
  metrics.set_images(10);
  metrics.set_workers(2);
  metrics.set_round_seconds(seconds);
  history.AddLine(ProtoJson(metrics));
}

TEST(TrainingClockTest, AddsUpTheRoundsThatCount) {
  RoundHistory history;
  AddClockRound(history, DISCRIMINATOR, 0, 1);
  AddClockRound(history, DISCRIMINATOR, 1, 50);
  AddClockRound(history, DISCRIMINATOR, 1, 2, /*epoch=*/2);  // repeated round
  AddClockRound(history, DISCRIMINATOR, 2, 4, /*epoch=*/2);
  AddClockRound(history, GENERATOR, 0, 1000);
  const TrainingClock clock(history);
  EXPECT_EQ(clock.At(0).seconds, 0);
  EXPECT_EQ(clock.At(1).seconds, 1);
  EXPECT_EQ(clock.At(2).seconds, 3);
  EXPECT_EQ(clock.At(3).seconds, 7);
  EXPECT_EQ(clock.At(3).images, 60);  // of both workers
  EXPECT_EQ(clock.At(9).seconds, 7);
}

TEST(TrainingClockTest, RoundsWithoutARecordTakeAsLongAsTheNextOne) {
  RoundHistory history;
  AddClockRound(history, DISCRIMINATOR, 3, 2);
  AddClockRound(history, DISCRIMINATOR, 7, 1);
  const TrainingClock clock(history);
  EXPECT_EQ(clock.At(4).seconds, 8);
  EXPECT_EQ(clock.At(8).seconds, 12);
  EXPECT_EQ(clock.At(6).seconds, 10);
  EXPECT_EQ(clock.At(2).images, 40);
}

TEST(TrainingClockTest, AnEmptyClockReadsZero) {
  RoundHistory history;
  AddClockRound(history, GENERATOR, 0, 1);
  EXPECT_EQ(TrainingClock(history).At(5).images, 0);
  EXPECT_EQ(TrainingClock().At(5).seconds, 0);
}

}  // namespace
}  // namespace gandem
