// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/operation_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace gandem {
namespace {

using ::testing::DoubleNear;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Returns consecutive spans from names and seconds.
std::vector<TraceEvent> Spans(
    const std::vector<std::pair<const char*, int64_t>>& spans) {
  std::vector<TraceEvent> events;
  int64_t now = 1'000'000'000;
  for (const auto& [name, seconds] : spans) {
    const int64_t end = now + seconds * 1'000'000'000;
    events.push_back({.name = name, .begin_ns = now, .end_ns = end});
    now = end;
  }
  return events;
}

auto Took(OperationTime::Operation operation, double seconds) {
  return Pair(operation, DoubleNear(seconds, 1e-6));
}

TEST(OperationTimesTest, AGeneratorsRoundIsSplitIntoOperations) {
  EXPECT_THAT(SumOfSpans(Spans({{"make images", 1},
                                {"load critic", 2},
                                {"forward", 4},
                                {"forward", 4},
                                {"judge", 8},
                                {"backward", 16},
                                {"judge", 8},
                                {"backward", 16},
                                {"update", 32},
                                {"average", 64},
                                {"wait for feedback", 1000},
                                {"round", 1000}}),
                         ScheduleConfig::SNAPSHOT),
              UnorderedElementsAre(Took(OperationTime::MAKE_IMAGES, 1),
                                   Took(OperationTime::LOAD_CRITIC, 2),
                                   Took(OperationTime::FORWARD, 8),
                                   Took(OperationTime::JUDGE, 16),
                                   Took(OperationTime::BACKWARD, 32),
                                   Took(OperationTime::UPDATE, 96)));
}

TEST(OperationTimesTest, ADiscriminatorsBackwardBelongsToThePassBefore) {
  EXPECT_THAT(SumOfSpans(Spans({{"copy critic", 1},
                                {"judge", 2},
                                {"forward real", 4},
                                {"backward", 8},
                                {"forward generated", 16},
                                {"backward", 32},
                                {"update", 64}}),
                         ScheduleConfig::IMAGE_GRADIENT),
              UnorderedElementsAre(Took(OperationTime::CAPTURE_CRITIC, 1),
                                   Took(OperationTime::ANSWER, 2),
                                   Took(OperationTime::REAL, 12),
                                   Took(OperationTime::GENERATED, 48),
                                   Took(OperationTime::UPDATE, 64)));
}

// Both roles alternate: the generator's backward pass between the
// discriminator's passes belongs to the generator.
TEST(OperationTimesTest, FusedAndColocatedRoundsAreSplitIntoOperations) {
  EXPECT_THAT(SumOfSpans(Spans({{"forward", 1},
                                {"forward generated", 2},
                                {"judge", 4},
                                {"backward", 8},
                                {"backward", 16},
                                {"update", 32},
                                {"forward real", 64},
                                {"backward", 128},
                                {"update", 256}}),
                         ScheduleConfig::FUSED),
              UnorderedElementsAre(Took(OperationTime::FORWARD, 1),
                                   Took(OperationTime::GENERATED, 14),
                                   Took(OperationTime::BACKWARD, 16),
                                   Took(OperationTime::REAL, 192),
                                   Took(OperationTime::UPDATE, 288)));
}

TEST(OperationTimesTest, SpansOfOtherThreadsAndCountersAreIgnored) {
  std::vector<TraceEvent> events =
      Spans({{"fetch image", 1}, {"read images", 1}});
  events.push_back(
      {.kind = TraceEvent::Kind::kCounter, .name = "forward", .value = 7});
  EXPECT_THAT(SumOfSpans(events, ScheduleConfig::SNAPSHOT), IsEmpty());
}

TEST(OperationTimesTest, TimesAreScaledDownToTheMeasuredTotal) {
  std::vector<OperationTime> times(2);
  times[0].set_median_seconds(6);
  times[0].set_low_seconds(4);
  times[0].set_high_seconds(8);
  times[1].set_median_seconds(2);
  ShortenTo(8, times);  // not shortened
  EXPECT_EQ(times[0].median_seconds(), 6);
  ShortenTo(4, times);
  EXPECT_EQ(times[0].median_seconds(), 3);
  EXPECT_EQ(times[0].low_seconds(), 2);
  EXPECT_EQ(times[0].high_seconds(), 4);
  EXPECT_EQ(times[1].median_seconds(), 1);
}

}  // namespace
}  // namespace gandem
