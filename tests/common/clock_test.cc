// SPDX-License-Identifier: Apache-2.0
#include "common/clock.h"

#include <gtest/gtest.h>

#include "common/monotonic_time.h"
#include "tests/testing/fake_clock.h"

namespace gandem {
namespace {

TEST(ClockTest, TheRealClockIsMonotonic) {
  const absl::Time before = MonotonicNow();
  const absl::Time now = Clock::Real()->Now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, MonotonicNow());
}

TEST(ClockTest, TheFakeClockAdvancesOnlyWhenTold) {
  gandem::testing::FakeClock clock;
  const absl::Time start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(absl::Seconds(5));
  EXPECT_EQ(clock.Now(), start + absl::Seconds(5));
}

}  // namespace
}  // namespace gandem
