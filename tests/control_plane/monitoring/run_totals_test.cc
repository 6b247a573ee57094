// SPDX-License-Identifier: Apache-2.0
#include "control_plane/monitoring/run_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::SizeIs;

RoundMetrics RecordOf(Role role, int rank, int64_t epoch, int64_t round) {
  RoundMetrics metrics;
  metrics.set_role(role);
  metrics.set_rank(rank);
  metrics.set_run_epoch(epoch);
  metrics.set_round(round);
  metrics.set_images(64);
  metrics.set_round_seconds(2);
  metrics.set_wait_images_seconds(0.5);
  return metrics;
}

TEST(RunTotalsTest, RecordsAreAdded) {
  RunTotals totals;
  totals.Add(RecordOf(DISCRIMINATOR, 0, 1, 0));
  totals.Add(RecordOf(DISCRIMINATOR, 0, 1, 1));
  const auto& role = totals.roles().at(DISCRIMINATOR);
  EXPECT_EQ(role.rounds, 2);
  EXPECT_EQ(role.images, 128);
  EXPECT_EQ(role.seconds.round, 4);
  EXPECT_EQ(role.seconds.images, 1);
}

TEST(RunTotalsTest, RoundsAreCountedForOneRankAndImagesForAll) {
  RunTotals totals;
  for (const int rank : {0, 1}) totals.Add(RecordOf(GENERATOR, rank, 1, 7));
  EXPECT_EQ(totals.roles().at(GENERATOR).rounds, 1);
  EXPECT_EQ(totals.roles().at(GENERATOR).images, 128);
}

TEST(RunTotalsTest, RecordsCoverTheRoundsSinceTheLastRecord) {
  RunTotals totals;
  totals.Add(RecordOf(GENERATOR, 0, 1, 9));
  totals.Add(RecordOf(GENERATOR, 0, 1, 19));
  EXPECT_EQ(totals.roles().at(GENERATOR).rounds, 11);
  EXPECT_EQ(totals.roles().at(GENERATOR).images, 11 * 64);
}

TEST(RunTotalsTest, RepeatedRoundsCountAgain) {
  RunTotals totals;
  totals.Add(RecordOf(GENERATOR, 0, 1, 9));
  totals.Add(RecordOf(GENERATOR, 0, 2, 5));
  EXPECT_EQ(totals.roles().at(GENERATOR).rounds, 2) << "never less than before";
}

TEST(RunTotalsTest, RanksWithoutRecordsInTheNewestEpochAreLeftOut) {
  RunTotals totals;
  totals.Add(RecordOf(DISCRIMINATOR, 0, 1, 3));
  totals.Add(RecordOf(DISCRIMINATOR, 1, 1, 3));
  totals.Add(RecordOf(DISCRIMINATOR, 0, 2, 4));
  EXPECT_THAT(totals.newest(), SizeIs(1));
  // Adds a late record of an earlier epoch.
  totals.Add(RecordOf(DISCRIMINATOR, 1, 1, 4));
  EXPECT_THAT(totals.newest(), SizeIs(1));
}

TEST(RunTotalsTest, WaitingShareIsOverAllRanks) {
  RunTotals totals;
  EXPECT_EQ(totals.WaitingShare(GENERATOR), 0);
  totals.Add(RecordOf(GENERATOR, 0, 1, 0));
  EXPECT_DOUBLE_EQ(totals.WaitingShare(GENERATOR), 0.25);
  RoundMetrics waits = RecordOf(GENERATOR, 1, 1, 0);
  waits.set_wait_feedback_seconds(1.5);
  totals.Add(waits);
  EXPECT_DOUBLE_EQ(totals.WaitingShare(GENERATOR), 0.625);
}

}  // namespace
}  // namespace gandem
