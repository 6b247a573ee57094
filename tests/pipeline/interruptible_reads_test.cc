// SPDX-License-Identifier: Apache-2.0
#include "pipeline/interruptible_reads.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace gandem {
namespace {

// Uses child processes, because other tests' threads take the signals.
class InterruptibleReadsDeathTest : public ::testing::Test {
 protected:
  InterruptibleReadsDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(InterruptibleReadsDeathTest, ASignalEndsReadsThatIgnoreIt) {
  EXPECT_EXIT(
      {
        BlockSignals({SIGINT, SIGTERM});
        const InterruptibleReads reads(absl::Milliseconds(50));
        kill(getpid(), SIGTERM);
        while (true) pause();
      },
      ::testing::ExitedWithCode(75), "interrupted while it waited");
}

TEST_F(InterruptibleReadsDeathTest, ACommandThatHandlesTheSignalDecides) {
  EXPECT_EXIT(
      {
        BlockSignals({SIGINT, SIGTERM});
        bool stopped = false;
        {
          const InterruptibleReads reads;
          kill(getpid(), SIGTERM);
          while (!ScopedReadStop::Stopped()) {
          }
          stopped = absl::IsCancelled(reads.Explain(absl::OkStatus()));
        }
        _exit(stopped ? 3 : 1);
      },
      ::testing::ExitedWithCode(3), "^$");
}

}  // namespace
}  // namespace gandem
