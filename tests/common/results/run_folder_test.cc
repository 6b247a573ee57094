// SPDX-License-Identifier: Apache-2.0
#include "common/results/run_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RunFolderLockTest, TheLockHasOneHolder) {
  const TempDir run_dir;
  EXPECT_FALSE(RunFolder(run_dir.path()).IsInTraining());
  {
    ASSERT_OK_AND_ASSIGN(const RunLock lock,
                         RunFolder(run_dir.path()).LockForTraining());
    EXPECT_TRUE(RunFolder(run_dir.path()).IsInTraining());
    EXPECT_THAT(RunFolder(run_dir.path()).LockForTraining(),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         HasSubstr(absl::StrCat("process ", getpid()))));
  }
  EXPECT_FALSE(RunFolder(run_dir.path()).IsInTraining());
  EXPECT_OK(RunFolder(run_dir.path()).LockForTraining());
}

TEST(RunFolderLockTest, AWatcherDoesNotDisturbARun) {
  const TempDir run_dir;
  ASSERT_OK_AND_ASSIGN(const RunLock watch,
                       RunFolder(run_dir.path()).LockForWatch());
  EXPECT_FALSE(RunFolder(run_dir.path()).IsInTraining());
  EXPECT_OK(RunFolder(run_dir.path()).LockForTraining());
  EXPECT_THAT(RunFolder(run_dir.path()).LockForWatch(),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("another `gandem watch-eval`")));
}

TEST(RunFolderLockTest, QueryingDoesNotTakeTheLock) {
  const TempDir run_dir;
  { ASSERT_OK(RunFolder(run_dir.path()).LockForTraining()); }
  EXPECT_FALSE(RunFolder(run_dir.path()).IsInTraining());
  EXPECT_OK(RunFolder(run_dir.path()).LockForTraining());
}

// A query holds no lock at any moment; a read lock would make a concurrent
// start fail.
TEST(RunFolderLockTest, QueryingNeverDisturbsAStart) {
  const TempDir run_dir;
  { ASSERT_OK(RunFolder(run_dir.path()).LockForTraining()); }
  const std::string path = run_dir / "state/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct flock reading = {};
  reading.l_type = F_RDLCK;
  ASSERT_EQ(fcntl(fd, F_OFD_SETLK, &reading), 0);
  EXPECT_TRUE(RunFolder(run_dir.path()).IsInTraining());
  // This process still holds the lock exclusively.
  struct flock writing = {};
  writing.l_type = F_WRLCK;
  EXPECT_EQ(fcntl(fd, F_OFD_SETLK, &writing), 0);
  close(fd);
  EXPECT_FALSE(RunFolder(run_dir.path()).IsInTraining());
}

TEST(RunFolderLockTest, ARemovedLockFileDoesNotReleaseTheLock) {
  const TempDir run_dir;
  ASSERT_OK_AND_ASSIGN(const RunLock lock,
                       RunFolder(run_dir.path()).LockForTraining());
  ASSERT_OK(RemoveAll(run_dir / "state"));
  EXPECT_THAT(RunFolder(run_dir.path()).LockForTraining(),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("state/lock was removed")));
}

// The lock belongs to the folder of the training state, regardless of its name.
TEST(RunFolderLockTest, AMovedFolderStaysLocked) {
  const TempDir dir;
  ASSERT_OK(CreateDirectories(dir / "run"));
  ASSERT_OK_AND_ASSIGN(const RunLock lock,
                       RunFolder(dir / "run").LockForTraining());
  ASSERT_OK(RenameDurably(dir / "run", dir / "moved"));
  EXPECT_TRUE(RunFolder(dir / "moved").IsInTraining());
  ASSERT_OK(CreateDirectories(dir / "run"));  // like a worker
  EXPECT_TRUE(RunFolder(dir / "moved").IsInTraining());
  EXPECT_FALSE(RunFolder(dir / "run").IsInTraining());
}

TEST(RunFolderLockTest, AFolderThatCannotBeWrittenIsNamed) {
  const TempDir folder;
  ASSERT_OK(WriteFile(folder / "file", ""));
  const absl::Status status =
      RunFolder(folder / "file").LockForTraining().status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder / "file"));
}

TEST(RunFolderProofTest, ReadersOfTheFolderCanProveAccess) {
  const TempDir run_dir;
  ASSERT_OK_AND_ASSIGN(const FolderProof proof,
                       RunFolder(run_dir.path()).RenewProof());
  EXPECT_FALSE(proof.text.empty());
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       RunFolder(run_dir.path()).ReadProof(proof.file));
  EXPECT_EQ(text, proof.text);
}

TEST(RunFolderProofTest, AnotherFolderOrAnOlderCopyGivesNoValidProof) {
  const TempDir run_dir;
  ASSERT_OK_AND_ASSIGN(const FolderProof first,
                       RunFolder(run_dir.path()).RenewProof());
  const TempDir elsewhere;
  const std::string copy = elsewhere / "copy";
  std::filesystem::copy(run_dir.path(), copy,
                        std::filesystem::copy_options::recursive);
  ASSERT_OK_AND_ASSIGN(const FolderProof second,
                       RunFolder(run_dir.path()).RenewProof());
  EXPECT_NE(first.text, second.text);
  for (const std::string& folder : {copy, elsewhere.path()}) {
    EXPECT_THAT(RunFolder(folder).ReadProof(second.file),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(folder), HasSubstr("--run_dir"))));
  }
  EXPECT_THAT(*ListDirectory(run_dir / "state"),
              ElementsAre(second.file.substr(sizeof("state"))));
}

TEST(RunFolderProofTest, FoldersAreCreatedOnlyInAnExistingRunFolder) {
  const TempDir dir;
  const std::string run_dir = dir / "mounted";
  const auto create = [&run_dir](const std::string& name) {
    return RunFolder(run_dir).Create(name);
  };
  const auto is_away =
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr(run_dir), HasSubstr("mounted?")));
  EXPECT_THAT(create("a/b"), is_away);
  EXPECT_FALSE(PathExists(run_dir));
  // A mount point that contains a leftover folder.
  ASSERT_OK(CreateDirectories(run_dir + "/a"));
  EXPECT_THAT(create("a/b"), is_away);
  EXPECT_THAT(*ListDirectory(run_dir + "/a"), IsEmpty());

  ASSERT_OK(RunFolder(run_dir).RenewProof());
  EXPECT_OK(create("a/b"));
  EXPECT_OK(create("a/b"));
  EXPECT_OK(create("c"));
  EXPECT_THAT(*ListDirectory(run_dir), ElementsAre("a", "c", "state"));
  EXPECT_THAT(*ListDirectory(run_dir + "/a"), ElementsAre("b"));
  ASSERT_OK(WriteFile(run_dir + "/file", ""));
  for (const char* name : {"file", "file/a"}) {
    EXPECT_THAT(create(name), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("/file")));
  }
}

}  // namespace
}  // namespace gandem
