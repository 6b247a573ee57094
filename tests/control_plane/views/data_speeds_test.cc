// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/data_speeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::DoubleNear;

// A round of 2 s, of which 0.5 s are waits for data.
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

TEST(DataSpeedsTest, WorkersAreTakenTogether) {
  DataSpeeds speeds;
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

TEST(DataSpeedsTest, TheLastRoundsCountMost) {
  DataSpeeds speeds;
  for (int round = 0; round < 50; ++round) {
    speeds.Add(Waiting(0, 0, 0, 0.5));
  }
  for (int round = 0; round < 20; ++round) speeds.Add(Waiting(0, 0.5, 0, 0));
  StatusReply status;
  speeds.Complete(status);
  EXPECT_EQ(status.data().stage(), "fetch");
}

TEST(DataSpeedsTest, ANewRunEpochBeginsWithNothing) {
  DataSpeeds speeds;
  speeds.Add(Waiting(0, 0.5, 0, 0));
  RoundMetrics next = Waiting(1, 0, 0, 0.5);
  next.set_run_epoch(2);
  speeds.Add(next);
  speeds.Add(Waiting(0, 0.5, 0, 0));  // of the epoch before
  StatusReply status;
  speeds.Complete(status);
  EXPECT_EQ(status.data().stage(), "transform");
  EXPECT_EQ(status.data().waiting_images(), 101);
}

TEST(DataSpeedsTest, NothingIsSaidOfWhatIsNotKnown) {
  DataSpeeds speeds;
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
