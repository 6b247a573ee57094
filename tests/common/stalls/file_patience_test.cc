// SPDX-License-Identifier: Apache-2.0
#include "common/stalls/file_patience.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "absl/time/clock.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/process/failpoint.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using gandem::testing::TempDir;

constexpr absl::Duration kPatience = absl::Milliseconds(40);

void Hang(absl::string_view path, int patience = 1) {
  const FileWait wait(path, patience);
  while (true) pause();
}

TEST(FilePatienceDeathTest, NamesThePathAndEndsTheProcess) {
  EXPECT_EXIT(
      {
        const FilePatience patience("gandem status", kPatience);
        Hang("/mnt/a");
      },
      ::testing::ExitedWithCode(75),
      "gandem status: waiting for /mnt/a since 0 s\n"
      "gandem status: '/mnt/a' has not answered within 40ms: ");
}

TEST(FilePatienceDeathTest, ASyncMayTakeLonger) {
  EXPECT_EXIT(
      {
        const FilePatience patience("gandem train", kPatience);
        Hang("/mnt/a", FileWait::kSyncPatience);
      },
      ::testing::ExitedWithCode(75), "not answered within 240ms");
}

// Each call has the whole limit; time between calls does not count.
TEST(FilePatienceDeathTest, OnlyOneLongCallCounts) {
  EXPECT_EXIT(
      {
        const FilePatience patience("gandem train", absl::Seconds(1));
        for (int i = 0; i < 15; ++i) {
          const FileWait wait("/mnt/a");
          absl::SleepFor(absl::Milliseconds(50));
        }
        absl::SleepFor(absl::Milliseconds(600));
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "^$");
}

TEST(FilePatienceDeathTest, FileFunctionsAreWatched) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "file", "x"));
  const auto hangs_in = [](const auto& call) {
    const FilePatience patience("gandem train", kPatience);
    GANDEM_CHECK_OK(ArmFailpoint("hang file.wait:1"));
    call();
    _exit(0);
  };
  const std::string file = dir / "file";
  const std::string advice = "has not answered";
  const auto ends = ::testing::ExitedWithCode(75);
  EXPECT_EXIT(hangs_in([&] { (void)ReadFile(file); }), ends, advice);
  EXPECT_EXIT(hangs_in([&] { (void)WriteFile(file, "y"); }), ends, advice);
  EXPECT_EXIT(hangs_in([&] { (void)PathExists(file); }), ends, advice);
  EXPECT_EXIT(hangs_in([&] { (void)ListDirectory(dir.path()); }), ends, advice);
  EXPECT_EXIT(hangs_in([&] { (void)CreateDirectories(dir / "a"); }), ends,
              advice);
  EXPECT_EXIT(hangs_in([&] { (void)RemoveAll(file); }), ends, advice);
  EXPECT_EXIT(hangs_in([&] { (void)RenameDurably(file, file); }), ends, advice);
  EXPECT_EXIT(hangs_in([&] { (void)FsyncDirectory(dir.path()); }), ends,
              advice);
}

TEST(FileWaitTest, TheErrorOfTheCallIsKept) {
  const FilePatience patience("gandem train");
  {
    const FileWait wait("/mnt/a");
    errno = ENOENT;
  }
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace gandem
