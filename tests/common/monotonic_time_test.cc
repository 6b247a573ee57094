// SPDX-License-Identifier: Apache-2.0
//
// Waits while the wall clock is set: this program defines clock_gettime() and
// gettimeofday() in place of the C library's, so that its time of day differs
// from the kernel's, which Abseil uses for waits.
#include "common/monotonic_time.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "common/process/thread.h"
#include "tests/testing/eventually.h"

namespace gandem {
namespace {

// Seconds by which the program's wall clock is ahead of the kernel's: waits for
// the wall clock last longer.
std::atomic<int64_t> seconds_ahead = 0;

}  // namespace
}  // namespace gandem

extern "C" int clock_gettime(clockid_t id, timespec* time) noexcept {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, id, time));
  if (id == CLOCK_REALTIME) time->tv_sec += gandem::seconds_ahead.load();
  return result;
}

// Abseil converts a timeout to a point in time with this function.
extern "C" int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  timespec now = {};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

namespace gandem {
namespace {

constexpr int64_t kDay = 24 * 3600;

// Stopwatch on a clock that this test does not change.
class Stopwatch {
 public:
  absl::Duration elapsed() const {
    return absl::FromChrono(std::chrono::steady_clock::now() - start_);
  }

 private:
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

class MonotonicTimeTest : public ::testing::Test {
 protected:
  ~MonotonicTimeTest() override { SetWallClock(0); }
  // Abseil reads the system's clock every few seconds only and uses the
  // processor's cycles in between.
  static void SetWallClock(int64_t ahead) {
    seconds_ahead = ahead;
    const auto is_set = [] {
      const absl::Time wall =
          absl::FromChrono(std::chrono::system_clock::now());
      const absl::Duration off = absl::Now() - wall;
      return off > -absl::Hours(1) && off < absl::Hours(1);
    };
    EXPECT_TRUE(gandem::testing::Eventually(is_set)) << ahead;
  }

  absl::Mutex mu_;
  bool ready_ ABSL_GUARDED_BY(mu_) = false;
};

TEST_F(MonotonicTimeTest, MonotonicTimeEqualsTheTimeOfDayUntilTheClockIsSet) {
  const absl::Duration off = MonotonicNow() - absl::Now();
  EXPECT_LT(off, absl::Minutes(1));
  EXPECT_GT(off, -absl::Minutes(1));
  const absl::Time before = MonotonicNow();
  for (const int64_t ahead : {kDay, -kDay}) {
    SetWallClock(ahead);
    const absl::Duration passed = MonotonicNow() - before;
    EXPECT_GE(passed, absl::ZeroDuration());
    EXPECT_LT(passed, absl::Hours(1));
  }
}

TEST_F(MonotonicTimeTest, AClockSetBackDelaysADeadlineByLittle) {
  SetWallClock(kDay);  // the kernel's clock is a day behind
  const Stopwatch stopwatch;
  absl::MutexLock lock(&mu_);
  EXPECT_FALSE(AwaitUntil(&mu_, absl::Condition(&ready_),
                          MonotonicNow() + absl::Milliseconds(10)));
  EXPECT_GE(stopwatch.elapsed(), absl::Milliseconds(10));
  // The margin is for a busy machine; without AwaitUntil the wait takes a day.
  EXPECT_LT(stopwatch.elapsed(), kLongestClockDelay + absl::Minutes(1));
}

TEST_F(MonotonicTimeTest, AClockSetForwardEndsNoWait) {
  SetWallClock(-kDay);  // the kernel's clock is a day ahead
  const Stopwatch stopwatch;
  absl::MutexLock lock(&mu_);
  EXPECT_FALSE(AwaitUntil(&mu_, absl::Condition(&ready_),
                          MonotonicNow() + absl::Milliseconds(200)));
  EXPECT_GE(stopwatch.elapsed(), absl::Milliseconds(200));
}

TEST_F(MonotonicTimeTest, TheThreadThatMakesTheConditionTrueWakesTheWaiter) {
  for (const int64_t ahead : {int64_t{0}, kDay}) {
    SetWallClock(ahead);
    {
      absl::MutexLock lock(&mu_);
      ready_ = false;
    }
    const Thread other("other", [this] {
      absl::MutexLock lock(&mu_);
      ready_ = true;
    });
    absl::MutexLock lock(&mu_);
    EXPECT_TRUE(AwaitUntil(&mu_, absl::Condition(&ready_),
                           MonotonicNow() + absl::Hours(1)));
    EXPECT_TRUE(
        AwaitUntil(&mu_, absl::Condition(&ready_), absl::InfiniteFuture()));
  }
}

TEST_F(MonotonicTimeTest, APastDeadlineDoesNotWait) {
  absl::MutexLock lock(&mu_);
  EXPECT_FALSE(
      AwaitUntil(&mu_, absl::Condition(&ready_), absl::InfinitePast()));
  ready_ = true;
  EXPECT_TRUE(AwaitUntil(&mu_, absl::Condition(&ready_), absl::InfinitePast()));
}

}  // namespace
}  // namespace gandem
