// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/feed_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

TEST(FeedMeterTest, AnIntervalContainsTheEventsThatEndedInIt) {
  FeedMeter meter(At(0));
  meter.FetchBegan();
  meter.FetchBegan();
  meter.FetchEnded(At(0), At(1), 70);
  meter.Finished(3, 0.25);
  meter.Consumed(8);
  meter.Stalled(At(1), At(1.25), At(2));
  const PipelineSeen seen = meter.EndInterval(At(2));
  EXPECT_EQ(seen.seconds, 2);
  EXPECT_EQ(seen.consumed, 8);
  EXPECT_EQ(seen.stalled_seconds, 1);
  ASSERT_EQ(seen.fetches.size(), 1u);
  EXPECT_EQ(seen.fetches[0].seconds, 1);
  EXPECT_EQ(seen.fetches[0].bytes, 70);
  EXPECT_EQ(seen.fetching, 1);
  EXPECT_EQ(seen.finished, 3);
  EXPECT_EQ(seen.work_seconds, 0.25);

  meter.FetchEnded(At(0.5), At(3), 10);
  const PipelineSeen next = meter.EndInterval(At(4));
  EXPECT_EQ(next.seconds, 2);
  EXPECT_EQ(next.consumed, 0);
  EXPECT_EQ(next.stalled_seconds, 0);
  ASSERT_EQ(next.fetches.size(), 1u);
  EXPECT_EQ(next.fetches[0].seconds, 2.5);
  EXPECT_EQ(next.fetching, 0);
}

TEST(FeedMeterTest, StatsCoverTheTimeSinceTheLastCall) {
  FeedMeter meter(At(0));
  meter.FetchBegan();
  meter.FetchEnded(At(0), At(1), 70);
  meter.Finished(3, 0.25);
  meter.EndInterval(At(1));  // does not affect the stats
  meter.Finished(1, 0.25);
  meter.Stalled(At(1), At(1.25), At(2));
  const FeedStats stats = meter.TakeStats(At(2));
  EXPECT_EQ(stats.seconds, 2);
  EXPECT_EQ(stats.finished, 4);
  EXPECT_EQ(stats.work_seconds, 0.5);
  EXPECT_EQ(stats.stored_bytes, 70);
  EXPECT_EQ(stats.fetch_stall_seconds, 0.25);
  EXPECT_EQ(stats.finish_stall_seconds, 0.75);
  const FeedStats next = meter.TakeStats(At(5));
  EXPECT_EQ(next.seconds, 3);
  EXPECT_EQ(next.finished, 0);
  EXPECT_EQ(next.finish_stall_seconds, 0);
}

}  // namespace
}  // namespace gandem
