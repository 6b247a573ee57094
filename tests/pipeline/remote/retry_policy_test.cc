// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/retry_policy.h"

#include <gtest/gtest.h>

#include "tests/testing/fake_clock.h"

namespace gandem {
namespace {

using ::gandem::testing::FakeClock;

TEST(RetryPolicyTest, BackoffDoublesUpToItsLimitWithFullJitter) {
  EXPECT_EQ(Backoff(1, 0.5, {}), absl::Milliseconds(50));
  EXPECT_EQ(Backoff(2, 0.5, {}), absl::Milliseconds(100));
  EXPECT_EQ(Backoff(4, 0.5, {}), absl::Milliseconds(400));
  EXPECT_EQ(Backoff(1000, 0.5, {}), absl::Seconds(5));
  EXPECT_EQ(Backoff(1000, 0, {}), absl::ZeroDuration());
}

TEST(RetryPolicyTest, TheServerMayRequestALongerDelay) {
  EXPECT_EQ(Backoff(1, 0.5, absl::Seconds(7)), absl::Seconds(7));
  EXPECT_EQ(Backoff(8, 0.5, absl::Seconds(1)), absl::Seconds(5));
}

TEST(RetryPolicyTest, PermanentFailuresAreNotRetried) {
  FakeClock clock;
  RetryTimer timer(clock.Now() + absl::Hours(1));
  EXPECT_FALSE(timer.Next(RetryKind::kNever, clock.Now(), 0.5, {}));
  EXPECT_EQ(timer.tries(), 1);
}

TEST(RetryPolicyTest, ServerErrorsAreTriedSixTimes) {
  FakeClock clock;
  RetryTimer timer(clock.Now() + absl::Hours(1));
  for (int tries = 1; tries < kMostTries; ++tries) {
    const auto next = timer.Next(RetryKind::kSometimes, clock.Now(), 0.5, {});
    ASSERT_TRUE(next.has_value()) << tries;
    EXPECT_EQ(*next, clock.Now() + Backoff(tries, 0.5, {}));
    clock.Advance(absl::Seconds(1));
  }
  EXPECT_FALSE(timer.Next(RetryKind::kSometimes, clock.Now(), 0.5, {}));
}

TEST(RetryPolicyTest, AnOutageIsRetriedUntilTheDeadline) {
  FakeClock clock;
  const absl::Time deadline = clock.Now() + absl::Minutes(2);
  RetryTimer timer(deadline);
  while (const auto next =
             timer.Next(RetryKind::kUntilDeadline, clock.Now(), 0.99, {})) {
    ASSERT_LT(*next, deadline);
    clock.Advance(*next - clock.Now());
  }
  EXPECT_GT(timer.tries(), kMostTries);
  EXPECT_GT(clock.Now(), deadline - kLongestBackoff);
}

TEST(RetryPolicyTest, NoRetryStartsTooLate) {
  FakeClock clock;
  RetryTimer timer(clock.Now() + absl::Seconds(30));
  EXPECT_FALSE(
      timer.Next(RetryKind::kUntilDeadline, clock.Now(), 0.5, absl::Hours(1)));
}

}  // namespace
}  // namespace gandem
