// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/run_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;

TEST(RunLockTest, IsForOneHolder) {
  const TempDir run_dir;
  EXPECT_FALSE(RunLock::IsTaken(run_dir.path()));
  {
    ASSERT_OK_AND_ASSIGN(const RunLock lock, RunLock::Take(run_dir.path()));
    EXPECT_TRUE(RunLock::IsTaken(run_dir.path()));
    EXPECT_THAT(RunLock::Take(run_dir.path()),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         HasSubstr(absl::StrCat("process ", getpid()))));
  }
  EXPECT_FALSE(RunLock::IsTaken(run_dir.path()));
  EXPECT_OK(RunLock::Take(run_dir.path()));
}

TEST(RunLockTest, AWatcherDoesNotDisturbATraining) {
  const TempDir run_dir;
  ASSERT_OK_AND_ASSIGN(const RunLock watch,
                       RunLock::TakeForWatch(run_dir.path()));
  EXPECT_FALSE(RunLock::IsTaken(run_dir.path()));
  EXPECT_OK(RunLock::Take(run_dir.path()));
  EXPECT_THAT(RunLock::TakeForWatch(run_dir.path()),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("another `gandem watch-eval`")));
}

TEST(RunLockTest, AskingDoesNotTakeIt) {
  const TempDir run_dir;
  { ASSERT_OK(RunLock::Take(run_dir.path())); }
  EXPECT_FALSE(RunLock::IsTaken(run_dir.path()));
  EXPECT_OK(RunLock::Take(run_dir.path()));
}

// Whoever asks holds nothing at any moment: a lock for reading, which two may
// have, would be refused if it did.
TEST(RunLockTest, AskingNeverDisturbsAStart) {
  const TempDir run_dir;
  { ASSERT_OK(RunLock::Take(run_dir.path())); }
  const std::string path = run_dir / "state/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct flock reading = {};
  reading.l_type = F_RDLCK;
  ASSERT_EQ(fcntl(fd, F_OFD_SETLK, &reading), 0);
  EXPECT_TRUE(RunLock::IsTaken(run_dir.path()));
  // Still ours alone.
  struct flock writing = {};
  writing.l_type = F_WRLCK;
  EXPECT_EQ(fcntl(fd, F_OFD_SETLK, &writing), 0);
  close(fd);
  EXPECT_FALSE(RunLock::IsTaken(run_dir.path()));
}

TEST(RunLockTest, ARemovedFileLetsNobodyIn) {
  const TempDir run_dir;
  ASSERT_OK_AND_ASSIGN(RunLock lock, RunLock::Take(run_dir.path()));
  ASSERT_OK(RemoveAll(run_dir / "state"));
  EXPECT_THAT(RunLock::Take(run_dir.path()),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("state/lock was removed")));
  ASSERT_OK(lock.Mend());
  EXPECT_TRUE(RunLock::IsTaken(run_dir.path()));
  EXPECT_EQ(RunLock::Holder(run_dir.path())
                .rfind(absl::StrCat("process ", getpid(), " on "), 0),
            0);
  EXPECT_OK(lock.Mend());
  EXPECT_TRUE(RunLock::IsTaken(run_dir.path()));
}

// What is locked is where the training's state is, whatever its name.
TEST(RunLockTest, AFolderThatIsMovedStaysLocked) {
  const TempDir dir;
  ASSERT_OK(CreateDirectories(dir / "run"));
  ASSERT_OK_AND_ASSIGN(RunLock lock, RunLock::Take(dir / "run"));
  ASSERT_OK(RenameDurably(dir / "run", dir / "moved"));
  EXPECT_TRUE(RunLock::IsTaken(dir / "moved"));
  ASSERT_OK(CreateDirectories(dir / "run"));  // as a worker does
  EXPECT_THAT(lock.Mend(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("moved away")));
  EXPECT_TRUE(RunLock::IsTaken(dir / "moved"));
  EXPECT_FALSE(RunLock::IsTaken(dir / "run"));
}

TEST(RunLockTest, NamesAFolderThatCannotBeWritten) {
  const TempDir folder;
  ASSERT_OK(WriteFile(folder / "file", ""));
  const absl::Status status = RunLock::Take(folder / "file").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder / "file"));
}

}  // namespace
}  // namespace gandem
