// SPDX-License-Identifier: Apache-2.0
#include "common/stalls/exit_deadline.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/monotonic_time.h"

namespace gandem {
namespace {

constexpr absl::Duration kSoon = absl::Milliseconds(50);

void WaitForEver() {
  while (true) pause();
}

TEST(ExitDeadlineDeathTest, EndsAStuckProcess) {
  EXPECT_EXIT(
      {
        ExitDeadline end;
        end.Set(kSoon, 75, "the disk does not answer");
        WaitForEver();
      },
      ::testing::ExitedWithCode(75), "the disk does not answer\n");
}

TEST(ExitDeadlineDeathTest, TheProcessEndsWithoutAReaderOfItsMessage) {
  EXPECT_EXIT(
      {
        int ends[2] = {};
        if (pipe2(ends, O_NONBLOCK) != 0) _exit(1);
        while (write(ends[1], "x", 1) == 1) {
        }
        if (fcntl(ends[1], F_SETFL, 0) != 0) _exit(1);  // blocking again
        dup2(ends[1], STDERR_FILENO);
        ExitDeadline end;
        end.Set(kSoon, 75, "the disk does not answer");
        WaitForEver();
      },
      ::testing::ExitedWithCode(75), "^$");
}

TEST(ExitDeadlineDeathTest, TheEarliestDeadlineCounts) {
  EXPECT_EXIT(
      {
        ExitDeadline end;
        end.Set(absl::Hours(1), 75, "last of all");
        end.Set(kSoon, 130, "at once");
        end.Set(absl::Hours(2), 1, "never");
        WaitForEver();
      },
      ::testing::ExitedWithCode(130), "at once\n");
}

TEST(ExitDeadlineDeathTest, FinishedProcessesKeepTheirExitCode) {
  EXPECT_EXIT(
      {
        const absl::Time start = MonotonicNow();
        {
          ExitDeadline end;
          end.Set(absl::Hours(1), 75, "late");
        }
        _exit(MonotonicNow() - start < absl::Minutes(10) ? 3 : 4);
      },
      ::testing::ExitedWithCode(3), "^$");
}

}  // namespace
}  // namespace gandem
