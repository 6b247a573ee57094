// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/fleet_speeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A round of a second in which 64 images were trained on.
RoundMetrics Round(Role role, int rank) {
  RoundMetrics metrics;
  metrics.set_role(role);
  metrics.set_rank(rank);
  metrics.set_run_epoch(1);
  metrics.set_unix_seconds(1000);
  metrics.set_round_seconds(1);
  metrics.set_images(64);
  return metrics;
}

TEST(FleetSpeedsTest, OneWorkerPerRoleIsNoFleet) {
  FleetSpeeds speeds;
  speeds.Add(Round(GENERATOR, 0));
  speeds.Add(Round(DISCRIMINATOR, 0));
  EXPECT_TRUE(speeds.Fleets().empty());
}

TEST(FleetSpeedsTest, OneWorkerPerRoleHasALimit) {
  FleetSpeeds speeds;
  RoundMetrics waiting = Round(GENERATOR, 0);
  waiting.set_wait_feedback_seconds(0.6);
  speeds.Add(waiting);
  EXPECT_EQ(speeds.Limit(), "");
  speeds.Add(Round(DISCRIMINATOR, 0));
  EXPECT_THAT(speeds.Limit(),
              AllOf(StartsWith("the discriminator limits the run: it works "
                               "100.0% of the time and the generator 40.0%"),
                    HasSubstr("up to 2.00 times")));
}

TEST(FleetSpeedsTest, AddsUpTheWorkersOfEachRole) {
  FleetSpeeds speeds;
  speeds.Add(Round(GENERATOR, 0));
  for (int rank = 0; rank < 3; ++rank) {
    RoundMetrics metrics = Round(DISCRIMINATOR, rank);
    metrics.set_images(20);
    metrics.set_round_seconds(0.5);
    metrics.set_wait_sync_seconds(rank == 2 ? 0.06 : 0.045);
    metrics.set_lag(rank);
    speeds.Add(metrics);
  }
  const std::vector<FleetStatus> fleets = speeds.Fleets();
  ASSERT_EQ(fleets.size(), 2);
  EXPECT_EQ(fleets[0].role(), GENERATOR);
  EXPECT_EQ(fleets[0].workers(), 1);
  EXPECT_DOUBLE_EQ(fleets[0].images_per_second(), 64);
  EXPECT_EQ(fleets[1].role(), DISCRIMINATOR);
  EXPECT_EQ(fleets[1].workers(), 3);
  EXPECT_DOUBLE_EQ(fleets[1].images_per_second(), 120);
  EXPECT_EQ(fleets[1].lag(), 2);
  EXPECT_NEAR(fleets[1].sync_share(), 0.1, 1e-12);
  EXPECT_EQ(fleets[1].straggler(), -1);
}

// All rounds of a fleet take the same time: the others wait.
TEST(FleetSpeedsTest, AStragglerIsWhoComputesLonger) {
  for (const double excess : {0.09, 0.3}) {
    FleetSpeeds speeds;
    for (int rank = 0; rank < 3; ++rank) {
      RoundMetrics metrics = Round(GENERATOR, rank);
      metrics.set_wait_feedback_seconds(0.1);
      metrics.set_wait_sync_seconds(rank == 1 ? 0.9 - 0.5 * (1 + excess) : 0.4);
      speeds.Add(metrics);
    }
    const FleetStatus fleet = speeds.Fleets().front();
    EXPECT_EQ(fleet.straggler(), excess > 0.1 ? 1 : -1);
    if (excess > 0.1) {
      EXPECT_NEAR(fleet.straggler_excess(), excess, 1e-9);
    }
  }
}

TEST(FleetSpeedsTest, OneSlowRoundMakesNoStraggler) {
  FleetSpeeds speeds;
  for (int round = 0; round < 100; ++round) {
    for (int rank = 0; rank < 3; ++rank) {
      RoundMetrics metrics = Round(GENERATOR, rank);
      if (round != 99 || rank != 2) metrics.set_wait_sync_seconds(0.5);
      speeds.Add(metrics);
    }
  }
  EXPECT_EQ(speeds.Fleets().front().straggler(), -1);
}

TEST(FleetSpeedsTest, FollowsAChange) {
  FleetSpeeds speeds;
  for (int round = 0; round < 200; ++round) {
    for (int rank = 0; rank < 2; ++rank) {
      RoundMetrics metrics = Round(GENERATOR, rank);
      metrics.set_images(round < 100 ? 10 : 50);
      speeds.Add(metrics);
    }
  }
  EXPECT_NEAR(speeds.Fleets().front().images_per_second(), 100, 0.1);
}

TEST(FleetSpeedsTest, ANewRunEpochStartsAnew) {
  FleetSpeeds speeds;
  for (int rank = 0; rank < 3; ++rank) speeds.Add(Round(GENERATOR, rank));
  for (int rank = 0; rank < 2; ++rank) {
    RoundMetrics metrics = Round(GENERATOR, rank);
    metrics.set_run_epoch(2);
    speeds.Add(metrics);
  }
  speeds.Add(Round(GENERATOR, 2));  // late
  EXPECT_EQ(speeds.Fleets().front().workers(), 2);
}

TEST(FleetSpeedsTest, WhoHasLeftDoesNotCount) {
  FleetSpeeds speeds;
  for (int rank = 0; rank < 3; ++rank) {
    RoundMetrics metrics = Round(DISCRIMINATOR, rank);
    if (rank > 0) metrics.set_unix_seconds(1100);
    speeds.Add(metrics);
  }
  EXPECT_EQ(speeds.Fleets().front().workers(), 2);
}

}  // namespace
}  // namespace gandem
