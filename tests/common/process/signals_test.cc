// SPDX-License-Identifier: Apache-2.0
#include "common/process/signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "absl/time/time.h"
#include "common/bounded_queue.h"
#include "common/files/file.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

TEST(SignalsTest, TheCallbackRunsOnTheWatchersThread) {
  BlockSignals({SIGTERM, SIGUSR1, SIGUSR2});
  BoundedQueue<int> seen(10);
  const pthread_t main_thread = pthread_self();
  {
    SignalThread signals({SIGTERM, SIGUSR1}, [&](int signal) {
      EXPECT_FALSE(pthread_equal(pthread_self(), main_thread));
      EXPECT_TRUE(seen.TryPush(signal));
    });
    kill(getpid(), SIGTERM);
    ASSERT_OK_AND_ASSIGN(const int first, seen.Pop(Soon()));
    EXPECT_EQ(first, SIGTERM);
    kill(getpid(), SIGUSR2);  // blocked, and nobody waits for it
    kill(getpid(), SIGUSR1);
    ASSERT_OK_AND_ASSIGN(const int second, seen.Pop(Soon()));
    EXPECT_EQ(second, SIGUSR1);
  }
  // After the destructor a signal stays pending without a callback.
  kill(getpid(), SIGTERM);
  EXPECT_EQ(seen.size(), 0);
}

// Both threads wake up, and the second one finds no signal: it must not block.
TEST(SignalsTest, EitherOfTwoThreadsReceivesASignal) {
  BlockSignals({SIGUSR1});
  for (int i = 0; i < 2000; ++i) {
    BoundedQueue<int> seen(10);
    const auto note = [&seen](int signal) {
      EXPECT_TRUE(seen.TryPush(signal));
    };
    const SignalThread one({SIGUSR1}, note);
    const SignalThread other({SIGUSR1}, note);
    kill(getpid(), SIGUSR1);
    ASSERT_OK_AND_ASSIGN(const int signal, seen.Pop(Soon()));
    EXPECT_EQ(signal, SIGUSR1);
  }
}

TEST(SignalsTest, UnblockAllSignalsClearsTheMask) {
  BlockSignals({SIGUSR1});
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 1);
  signal(SIGUSR1, SIG_IGN);
  signal(SIGUSR2, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  UnblockAllSignals();
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 0);
}

TEST(SignalsDeathTest, TakesOnlyBlockedSignals) {
  EXPECT_DEATH(SignalThread({SIGWINCH}, [](int) {}), "sigismember");
}

TEST(SignalsTest, IgnoredSignalsCauseNoCallback) {
  for (const int signal_number : {SIGUSR1, SIGUSR2}) {
    ASSERT_NE(signal(signal_number, SIG_DFL), SIG_ERR);
  }
  EXPECT_EQ(SignalsToHear({SIGUSR1, SIGUSR2}),
            (std::vector<int>{SIGUSR1, SIGUSR2}));
  ASSERT_NE(signal(SIGUSR1, SIG_IGN), SIG_ERR);
  EXPECT_EQ(SignalsToHear({SIGUSR1, SIGUSR2}), std::vector<int>{SIGUSR2});
  ASSERT_NE(signal(SIGUSR1, SIG_DFL), SIG_ERR);
}

}  // namespace
}  // namespace gandem
