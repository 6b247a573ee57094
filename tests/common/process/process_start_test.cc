// SPDX-License-Identifier: Apache-2.0
#include "common/process/process_start.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>
#include <string>

#include "common/files/file.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

bool IsNull(int fd) {
  struct stat null = {};
  struct stat there = {};
  return stat("/dev/null", &null) == 0 && fstat(fd, &there) == 0 &&
         there.st_rdev == null.st_rdev && S_ISCHR(there.st_mode);
}

// Starts a child without the streams `closed`, which opens the missing ones.
// Returns its exit code: 0, or 10 + the first wrong stream.
int OpensIn(std::initializer_list<int> closed) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (const int fd : closed) close(fd);
    PrepareProcess();
    for (int fd = 0; fd <= 2; ++fd) {
      bool was_closed = false;
      for (const int other : closed) was_closed = was_closed || other == fd;
      if (was_closed && !IsNull(fd)) _exit(10 + fd);
      if (was_closed && fcntl(fd, F_GETFD) != 0) _exit(10 + fd);
    }
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    _exit(next > 2 ? 0 : 20);
  }
  int wait_status = 0;
  EXPECT_EQ(waitpid(pid, &wait_status, 0), pid);
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

TEST(ProcessStartTest, ClosedStreamsBecomeDevNull) {
  EXPECT_EQ(OpensIn({1}), 0);
  EXPECT_EQ(OpensIn({0, 2}), 0);
  EXPECT_EQ(OpensIn({0, 1, 2}), 0);
}

TEST(ProcessStartTest, OpenStreamsAreUnchanged) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    close(2);
    PrepareProcess();
    _exit(write(1, "x", 1) == 1 ? 0 : 1);
  }
  int wait_status = 0;
  ASSERT_EQ(waitpid(pid, &wait_status, 0), pid);
  EXPECT_EQ(wait_status, 0);
  char read_back = 0;
  EXPECT_EQ(read(ends[0], &read_back, 1), 1);
  EXPECT_EQ(read_back, 'x');
  close(ends[0]);
  close(ends[1]);
}

TEST(ProcessStartDeathTest, AFileThatGrowsTooLargeIsAnError) {
  const testing::TempDir dir;
  EXPECT_EXIT(
      {
        signal(SIGXFSZ, SIG_DFL);
        PrepareProcess();
        rlimit limit;
        limit.rlim_cur = limit.rlim_max = 1000;
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
        const absl::Status status =
            WriteFile(dir / "file", std::string(5000, 'a'));
        _exit(absl::IsResourceExhausted(status) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gandem
