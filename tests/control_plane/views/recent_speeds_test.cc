// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/recent_speeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<FleetStatus> FleetsOf(const RecentSpeeds& speeds) {
  StatusReply status;
  speeds.Complete(status);
  return {status.fleets().begin(), status.fleets().end()};
}

std::string LimitOf(const RecentSpeeds& speeds) {
  StatusReply status;
  speeds.Complete(status);
  return status.limit();
}

// Returns a round of one second that trained on 64 images.
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

TEST(RecentSpeedsTest, SingleWorkersAreNoFleet) {
  RecentSpeeds speeds;
  speeds.Add(Round(GENERATOR, 0));
  speeds.Add(Round(DISCRIMINATOR, 0));
  EXPECT_TRUE(FleetsOf(speeds).empty());
}

TEST(RecentSpeedsTest, SingleWorkersHaveALimit) {
  RecentSpeeds speeds;
  RoundMetrics waiting = Round(GENERATOR, 0);
  waiting.set_wait_feedback_seconds(0.6);
  speeds.Add(waiting);
  EXPECT_EQ(LimitOf(speeds), "");
  speeds.Add(Round(DISCRIMINATOR, 0));
  EXPECT_THAT(LimitOf(speeds),
              AllOf(StartsWith("the discriminator limits the run: it works "
                               "100.0% of the time and the generator 40.0%"),
                    HasSubstr("up to 2.00 times")));
}

TEST(RecentSpeedsTest, WorkersOfEachRoleAreAdded) {
  RecentSpeeds speeds;
  speeds.Add(Round(GENERATOR, 0));
  for (int rank = 0; rank < 3; ++rank) {
    RoundMetrics metrics = Round(DISCRIMINATOR, rank);
    metrics.set_images(20);
    metrics.set_round_seconds(0.5);
    metrics.set_wait_sync_seconds(rank == 2 ? 0.06 : 0.045);
    metrics.set_lag(rank);
    speeds.Add(metrics);
  }
  const std::vector<FleetStatus> fleets = FleetsOf(speeds);
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

// All rounds of a fleet take equally long, because the other workers wait.
TEST(RecentSpeedsTest, StragglersComputeLonger) {
  for (const double excess : {0.09, 0.3}) {
    RecentSpeeds speeds;
    for (int rank = 0; rank < 3; ++rank) {
      RoundMetrics metrics = Round(GENERATOR, rank);
      metrics.set_wait_feedback_seconds(0.1);
      metrics.set_wait_sync_seconds(rank == 1 ? 0.9 - 0.5 * (1 + excess) : 0.4);
      speeds.Add(metrics);
    }
    const FleetStatus fleet = FleetsOf(speeds).at(0);
    EXPECT_EQ(fleet.straggler(), excess > 0.1 ? 1 : -1);
    if (excess > 0.1) {
      EXPECT_NEAR(fleet.straggler_excess(), excess, 1e-9);
    }
  }
}

TEST(RecentSpeedsTest, OneSlowRoundDoesNotMakeAStraggler) {
  RecentSpeeds speeds;
  for (int round = 0; round < 100; ++round) {
    for (int rank = 0; rank < 3; ++rank) {
      RoundMetrics metrics = Round(GENERATOR, rank);
      if (round != 99 || rank != 2) metrics.set_wait_sync_seconds(0.5);
      speeds.Add(metrics);
    }
  }
  EXPECT_EQ(FleetsOf(speeds).at(0).straggler(), -1);
}

TEST(RecentSpeedsTest, TheSpeedsFollowAChange) {
  RecentSpeeds speeds;
  for (int round = 0; round < 200; ++round) {
    for (int rank = 0; rank < 2; ++rank) {
      RoundMetrics metrics = Round(GENERATOR, rank);
      metrics.set_images(round < 100 ? 10 : 50);
      speeds.Add(metrics);
    }
  }
  EXPECT_NEAR(FleetsOf(speeds).at(0).images_per_second(), 100, 0.1);
}

TEST(RecentSpeedsTest, NewRunEpochsDropEarlierRecords) {
  RecentSpeeds speeds;
  for (int rank = 0; rank < 3; ++rank) speeds.Add(Round(GENERATOR, rank));
  for (int rank = 0; rank < 2; ++rank) {
    RoundMetrics metrics = Round(GENERATOR, rank);
    metrics.set_run_epoch(2);
    speeds.Add(metrics);
  }
  speeds.Add(Round(GENERATOR, 2));  // a late record
  EXPECT_EQ(FleetsOf(speeds).at(0).workers(), 2);
}

TEST(RecentSpeedsTest, WorkersThatHaveLeftAreNotCounted) {
  RecentSpeeds speeds;
  for (int rank = 0; rank < 3; ++rank) {
    RoundMetrics metrics = Round(DISCRIMINATOR, rank);
    if (rank > 0) metrics.set_unix_seconds(1100);
    speeds.Add(metrics);
  }
  EXPECT_EQ(FleetsOf(speeds).at(0).workers(), 2);
}

// Returns a round of 2 s with 0.5 s of waits for data.
RoundMetrics Waiting(int rank, double fetch, double decode, double transform) {
  RoundMetrics metrics;
  metrics.set_role(DISCRIMINATOR);
  metrics.set_rank(rank);
  metrics.set_run_epoch(1);
  metrics.set_round_seconds(2);
  metrics.set_wait_data_seconds(0.5);
  DataMetrics& data = *metrics.mutable_data();
  data.set_seconds(2);
  data.set_images(64);
  data.set_stored_bytes(6'000'000);
  data.set_fetch_stall_seconds(fetch);
  data.set_decode_stall_seconds(decode);
  data.set_transform_stall_seconds(transform);
  data.set_retries(1);
  data.set_waiting_images(100 + rank);
  data.set_images_ahead(200);
  data.set_fetches(8);
  data.set_workers(2);
  return metrics;
}

TEST(RecentDataTest, DataOfAllWorkersIsAdded) {
  RecentSpeeds speeds;
  for (int round = 0; round < 3; ++round) {
    speeds.Add(Waiting(0, 0.1, 0.3, 0.1));
    speeds.Add(Waiting(1, 0.1, 0.3, 0.1));
  }
  StatusReply status;
  speeds.Complete(status);
  const DataStatus& data = status.data();
  EXPECT_THAT(data.wait_share(), DoubleNear(0.25, 1e-12));
  EXPECT_EQ(data.stage(), "decode");
  EXPECT_THAT(data.images_per_second(), DoubleNear(64, 1e-9));
  EXPECT_THAT(data.stored_bytes_per_second(), DoubleNear(6e6, 1e-3));
  EXPECT_EQ(data.retries(), 6);
  EXPECT_EQ(data.waiting_images(), 201);
  EXPECT_EQ(data.images_ahead(), 400);
  EXPECT_EQ(data.fetches(), 16);
  EXPECT_EQ(data.workers(), 4);
  EXPECT_EQ(DataWaitText(data), "waits for data 25%: decode");
  EXPECT_EQ(DataLine(status),
            "  real images: 64/s, 201 of 400 ahead, 4 decode threads, 16 "
            "fetches, 6.0 MB/s, 6 retries\n");
}

TEST(RecentDataTest, TheLastRoundsCountMost) {
  RecentSpeeds speeds;
  for (int round = 0; round < 50; ++round) {
    speeds.Add(Waiting(0, 0, 0, 0.5));
  }
  for (int round = 0; round < 20; ++round) speeds.Add(Waiting(0, 0.5, 0, 0));
  StatusReply status;
  speeds.Complete(status);
  EXPECT_EQ(status.data().stage(), "fetch");
}

TEST(RecentDataTest, NewRunEpochsDropEarlierData) {
  RecentSpeeds speeds;
  speeds.Add(Waiting(0, 0.5, 0, 0));
  RoundMetrics next = Waiting(1, 0, 0, 0.5);
  next.set_run_epoch(2);
  speeds.Add(next);
  speeds.Add(Waiting(0, 0.5, 0, 0));  // of the previous epoch
  StatusReply status;
  speeds.Complete(status);
  EXPECT_EQ(status.data().stage(), "transform");
  EXPECT_EQ(status.data().waiting_images(), 101);
}

TEST(RecentDataTest, UnknownDataIsNotReported) {
  RecentSpeeds speeds;
  RoundMetrics metrics = Waiting(0, 0.5, 0, 0);
  metrics.clear_data();
  speeds.Add(metrics);
  metrics = Waiting(0, 0.5, 0, 0);
  metrics.set_role(GENERATOR);
  speeds.Add(metrics);
  StatusReply status;
  speeds.Complete(status);
  EXPECT_FALSE(status.has_data());
  EXPECT_EQ(DataLine(status), "");
}

}  // namespace
}  // namespace gandem
