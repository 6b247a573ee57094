// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/checkpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_pruner.h"
#include "common/files/file.h"
#include "common/files/file_writer.h"
#include "common/process/failpoint.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::KilledBySignal;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kConfigHash = 0x1234;

// Writes a shard as a worker would and returns the manifest to commit.
CheckpointManifest WriteShard(const std::string& run_dir, int64_t step,
                              int64_t epoch, const std::string& contents) {
  const std::string pending = PendingCheckpointPath(run_dir, step, epoch);
  EXPECT_OK(CreateDirectories(pending));
  EXPECT_OK(WriteFileDurably(pending + "/shard", contents));
  const FileSummary summary = *SummarizeFile(pending + "/shard");
  CheckpointManifest manifest;
  manifest.set_step(step);
  manifest.set_run_epoch(epoch);
  manifest.set_config_hash(kConfigHash);
  CheckpointFile& file = *manifest.add_files();
  file.set_name("shard");
  file.set_size(summary.size);
  file.set_crc32c(summary.crc32c);
  return manifest;
}

void Commit(const std::string& run_dir, int64_t step) {
  ASSERT_OK(CommitCheckpoint(
      run_dir, WriteShard(run_dir, step, 1, absl::StrCat("state ", step))));
}

std::vector<std::string> Names(const std::string& run_dir) {
  return *ListDirectory(run_dir + "/checkpoints");
}

TEST(CheckpointFilesTest, PathsAreFrozen) {
  EXPECT_EQ(PendingCheckpointPath("/r", 500, 3),
            "/r/checkpoints/step-000000500.3.tmp");
  EXPECT_EQ(CheckpointPath("/r", 500), "/r/checkpoints/step-000000500");
  EXPECT_EQ(CheckpointPath("/r", 12345678901),
            "/r/checkpoints/step-12345678901");
}

TEST(CheckpointFilesTest, TheNewestCommittedCheckpointIsFound) {
  const TempDir dir;
  EXPECT_THAT(FindNewestCheckpoint(dir.path()),
              StatusIs(absl::StatusCode::kNotFound));
  for (const int64_t step : {9, 1'000'000'000, 10}) Commit(dir.path(), step);
  ASSERT_OK_AND_ASSIGN(const FoundCheckpoint found,
                       FindNewestCheckpoint(dir.path()));
  EXPECT_EQ(found.step, 1'000'000'000);
  EXPECT_EQ(found.path, CheckpointPath(dir.path(), 1'000'000'000));
  EXPECT_EQ(found.manifest.config_hash(), kConfigHash);
  EXPECT_EQ(found.manifest.files(0).name(), "shard");
  EXPECT_THAT(found.skipped_with_reason, IsEmpty());
}

TEST(CheckpointFilesTest, TheLastGoodCheckpointIsALink) {
  const TempDir dir;
  EXPECT_THAT(MarkLastGood(dir.path(), 100),
              StatusIs(absl::StatusCode::kNotFound));
  for (const int64_t step : {10, 20, 30}) Commit(dir.path(), step);
  const std::string link = dir / "checkpoints/last-good";
  for (const int64_t most : {29, 1000}) {
    ASSERT_OK_AND_ASSIGN(const int64_t step, MarkLastGood(dir.path(), most));
    EXPECT_EQ(step, most == 29 ? 20 : 30);
    EXPECT_EQ(ReadManifest(link)->step(), step);
  }
  // The link is not listed as a checkpoint.
  EXPECT_THAT(*ListCheckpoints(dir.path()), ElementsAre(30, 20, 10));
  EXPECT_THAT(MarkLastGood(dir.path(), 9),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_FALSE(PathExists(link));

  // The link is removed with its checkpoint, and with no other one.
  ASSERT_OK(MarkLastGood(dir.path(), 20));
  ASSERT_OK(RemoveCheckpoint(dir.path(), 10));
  EXPECT_TRUE(PathExists(link));
  ASSERT_OK(RemoveCheckpoint(dir.path(), 20));
  EXPECT_THAT(*ListDirectory(dir / "checkpoints"), Not(Contains("last-good")));
}

TEST(CheckpointFilesTest, CheckpointsThatWereNotRenamedDoNotExist) {
  const TempDir dir;
  WriteShard(dir.path(), 5, 1, "state");
  EXPECT_THAT(FindNewestCheckpoint(dir.path()),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(RemovePending(dir.path()));
  EXPECT_THAT(Names(dir.path()), IsEmpty());
}

TEST(CheckpointFilesTest, RemovePendingKeepsCheckpoints) {
  const TempDir dir;
  EXPECT_OK(RemovePending(dir.path()));
  Commit(dir.path(), 1);
  WriteShard(dir.path(), 2, 1, "state");
  WriteShard(dir.path(), 2, 2, "state");
  ASSERT_OK(RemovePending(dir.path()));
  EXPECT_THAT(Names(dir.path()), ElementsAre("step-000000001"));
}

TEST(CheckpointFilesTest, DamagedCheckpointsAreSkippedWithTheReason) {
  const TempDir dir;
  for (int64_t step = 1; step <= 7; ++step) Commit(dir.path(), step);
  const auto file = [&dir](int64_t step, absl::string_view name) {
    return absl::StrCat(CheckpointPath(dir.path(), step), "/", name);
  };
  ASSERT_OK(RemoveAll(file(7, "shard")));
  ASSERT_OK(WriteFile(file(6, "shard"), "state 6, and more"));
  ASSERT_OK(WriteFile(file(5, "shard"), "state 6"));  // same size
  ASSERT_OK(RemoveAll(file(4, kManifestName)));
  ASSERT_OK(WriteFile(file(3, kManifestName), "step: banana"));
  ASSERT_EQ(
      rename(file(1, kManifestName).c_str(), file(2, kManifestName).c_str()),
      0);
  Commit(dir.path(), 0);
  ASSERT_OK_AND_ASSIGN(const FoundCheckpoint found,
                       FindNewestCheckpoint(dir.path()));
  EXPECT_EQ(found.step, 0);
  EXPECT_THAT(
      found.skipped_with_reason,
      ElementsAre(
          AllOf(HasSubstr("step-000000007: "), HasSubstr("is missing")),
          AllOf(HasSubstr("step-000000006: "), HasSubstr("has 17 bytes")),
          AllOf(HasSubstr("step-000000005: "), HasSubstr("CRC32C")),
          AllOf(HasSubstr("step-000000004: "),
                HasSubstr("manifest.textproto' is missing")),
          AllOf(HasSubstr("step-000000003: "),
                HasSubstr("manifest.textproto:1:7: ")),
          AllOf(HasSubstr("step-000000002: "), HasSubstr("that of step 1")),
          AllOf(HasSubstr("step-000000001: "),
                HasSubstr("manifest.textproto' is missing"))));
}

TEST(CheckpointFilesTest, NoCompleteCheckpointDiffersFromNoCheckpoint) {
  const TempDir dir;
  Commit(dir.path(), 3);
  ASSERT_OK(WriteFile(CheckpointPath(dir.path(), 3) + "/shard", "damage"));
  EXPECT_THAT(FindNewestCheckpoint(dir.path()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("move that folder away"),
                             HasSubstr("step-000000003"))));
}

TEST(CheckpointFilesTest, FoldersWithOtherNamesAreNotCheckpoints) {
  const TempDir dir;
  for (const char* name : {"step-1", "step-0000000010", "step--00000001",
                           "step-00000000x", "step-000000001.old", "other"}) {
    ASSERT_OK(CreateDirectories(dir / absl::StrCat("checkpoints/", name)));
  }
  EXPECT_THAT(FindNewestCheckpoint(dir.path()),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(CheckpointFilesTest, CommitChecksTheManifest) {
  const TempDir dir;
  CheckpointManifest good = WriteShard(dir.path(), 1, 1, "state");
  CheckpointManifest manifest = good;
  manifest.clear_files();
  EXPECT_THAT(CommitCheckpoint(dir.path(), manifest),
              StatusIs(absl::StatusCode::kInvalidArgument));
  for (const char* name : {"", ".", "..", "../shard", "/etc/passwd", "a/b",
                           "manifest.textproto"}) {
    manifest = good;
    manifest.mutable_files(0)->set_name(name);
    EXPECT_THAT(CommitCheckpoint(dir.path(), manifest),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
  manifest = good;
  *manifest.add_files() = manifest.files(0);
  EXPECT_THAT(CommitCheckpoint(dir.path(), manifest),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("repeated file name 'shard'")));

  manifest = WriteShard(dir.path(), 1, 1, "state");
  manifest.mutable_files(0)->set_size(4);
  EXPECT_THAT(CommitCheckpoint(dir.path(), manifest),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("has 5 bytes")));
  manifest = WriteShard(dir.path(), 1, 1, "state");
  manifest.mutable_files(0)->set_name("other");
  EXPECT_THAT(CommitCheckpoint(dir.path(), manifest),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is missing")));
  EXPECT_THAT(Names(dir.path()), IsEmpty());
}

TEST(CheckpointFilesTest, AFullDiskKeepsOlderCheckpoints) {
  const TempDir dir;
  Commit(dir.path(), 1);
  const CheckpointManifest manifest = WriteShard(dir.path(), 2, 1, "state");
  // Everything written to /dev/full fails as on a full disk.
  ASSERT_EQ(
      symlink("/dev/full", absl::StrCat(PendingCheckpointPath(dir.path(), 2, 1),
                                        "/", kManifestName, ".tmp")
                               .c_str()),
      0);
  EXPECT_THAT(CommitCheckpoint(dir.path(), manifest),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("free some space")));
  EXPECT_EQ(FindNewestCheckpoint(dir.path())->step, 1);
  // Space is available again because the failure removed the link.
  ASSERT_OK(CommitCheckpoint(dir.path(), manifest));
  EXPECT_EQ(FindNewestCheckpoint(dir.path())->step, 2);
  EXPECT_THAT(Names(dir.path()),
              UnorderedElementsAre("step-000000001", "step-000000002"));
}

TEST(CheckpointFilesTest, ACommitMayBeRepeated) {
  const TempDir dir;
  const CheckpointManifest manifest = WriteShard(dir.path(), 2, 1, "state");
  ASSERT_OK(CommitCheckpoint(dir.path(), manifest));
  ASSERT_OK(CommitCheckpoint(dir.path(), manifest));
  EXPECT_THAT(Names(dir.path()), ElementsAre("step-000000002"));
}

TEST(CheckpointFilesTest, CommittingAStepAgainKeepsTheCompleteCheckpoint) {
  const TempDir dir;
  Commit(dir.path(), 4);
  ASSERT_OK(
      CommitCheckpoint(dir.path(), WriteShard(dir.path(), 4, 2, "again")));
  EXPECT_EQ(FindNewestCheckpoint(dir.path())->manifest.run_epoch(), 1);
  EXPECT_THAT(Names(dir.path()), ElementsAre("step-000000004"));
}

TEST(CheckpointFilesTest, CommittingAgainReplacesADamagedOrForeignCheckpoint) {
  const TempDir dir;
  Commit(dir.path(), 4);
  ASSERT_OK(WriteFile(CheckpointPath(dir.path(), 4) + "/shard", "damage"));
  ASSERT_OK(
      CommitCheckpoint(dir.path(), WriteShard(dir.path(), 4, 2, "again")));
  EXPECT_EQ(FindNewestCheckpoint(dir.path())->manifest.run_epoch(), 2);

  CheckpointManifest other_config = WriteShard(dir.path(), 4, 3, "other");
  other_config.set_config_hash(kConfigHash + 1);
  ASSERT_OK(CommitCheckpoint(dir.path(), other_config));
  EXPECT_EQ(FindNewestCheckpoint(dir.path())->manifest.run_epoch(), 3);
  EXPECT_THAT(Names(dir.path()), ElementsAre("step-000000004"));
}

TEST(CheckpointFilesDeathTest, ACheckpointSurvivesAKillAtEveryFailpoint) {
  for (const absl::string_view name :
       {"checkpoint.before_manifest", "checkpoint.before_rename",
        "checkpoint.after_rename", "checkpoint.prune"}) {
    SCOPED_TRACE(name);
    const TempDir dir;
    Commit(dir.path(), 1);
    Commit(dir.path(), 2);
    const CheckpointManifest manifest = WriteShard(dir.path(), 3, 1, "state 3");
    EXPECT_EXIT(
        {
          GANDEM_CHECK_OK(ArmFailpoint(absl::StrCat(name, ":1")));
          (void)CommitCheckpoint(dir.path(), manifest);
          (void)CheckpointPruner({.run_dir = dir.path(), .keep_last = 1})
              .Prune(3);
          std::_Exit(0);
        },
        KilledBySignal(SIGKILL), "");
    const bool renamed =
        name == "checkpoint.after_rename" || name == "checkpoint.prune";
    ASSERT_OK_AND_ASSIGN(const FoundCheckpoint found,
                         FindNewestCheckpoint(dir.path()));
    EXPECT_EQ(found.step, renamed ? 3 : 2);
    EXPECT_THAT(found.skipped_with_reason, IsEmpty());
    ASSERT_OK(RemovePending(dir.path()));
    ASSERT_OK(
        CommitCheckpoint(dir.path(), WriteShard(dir.path(), 3, 2, "state 3")));
    ASSERT_OK(
        CheckpointPruner({.run_dir = dir.path(), .keep_last = 1}).Prune(3));
    EXPECT_THAT(Names(dir.path()), ElementsAre("step-000000003"));
    EXPECT_EQ(FindNewestCheckpoint(dir.path())->step, 3);
  }
}

TEST(CheckpointFilesTest, ListsStepsNewestFirst) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(std::vector<int64_t> steps, ListCheckpoints(dir.path()));
  EXPECT_THAT(steps, IsEmpty());
  for (const int64_t step : {9, 10, 8}) Commit(dir.path(), step);
  WriteShard(dir.path(), 11, 1, "pending");
  ASSERT_OK_AND_ASSIGN(steps, ListCheckpoints(dir.path()));
  EXPECT_THAT(steps, ElementsAre(10, 9, 8));
}

TEST(CheckpointFilesTest, SizesAreCheckedWithoutReading) {
  const TempDir dir;
  Commit(dir.path(), 3);
  const std::string path = CheckpointPath(dir.path(), 3);
  EXPECT_OK(CheckSizes(path));
  ASSERT_OK(WriteFile(path + "/shard", "state 4"));  // same size
  EXPECT_OK(CheckSizes(path));
  ASSERT_OK(WriteFile(path + "/shard", "state"));
  EXPECT_THAT(CheckSizes(path), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(CheckSizes(dir / "none"), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(CheckpointFilesTest, AKeptCheckpointSurvivesTheRemovalOfTheOriginal) {
  const TempDir dir;
  for (const int64_t step : {1, 2}) Commit(dir.path(), step);
  const std::string folder = dir / "kept/here";
  ASSERT_OK_AND_ASSIGN(const std::string kept,
                       KeepCheckpoint(CheckpointPath(dir.path(), 1), folder));
  EXPECT_EQ(kept, folder + "/step-000000001");
  ASSERT_OK(RemoveCheckpoint(dir.path(), 1));
  EXPECT_FALSE(PathExists(CheckpointPath(dir.path(), 1)));
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest,
                       VerifyCheckpoint(kept));
  EXPECT_EQ(manifest.step(), 1);
  // The original is removed; the kept copy is unchanged.
  EXPECT_OK(KeepCheckpoint(CheckpointPath(dir.path(), 1), folder));
  EXPECT_OK(VerifyCheckpoint(kept));
  EXPECT_THAT(*ListDirectory(folder), ElementsAre("step-000000001"));
}

TEST(CheckpointFilesTest, PrunedCheckpointsCannotBeKept) {
  const TempDir dir;
  Commit(dir.path(), 1);
  EXPECT_THAT(KeepCheckpoint(CheckpointPath(dir.path(), 2), dir / "kept"),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(RemoveAll(CheckpointPath(dir.path(), 1) + "/" + kManifestName));
  EXPECT_THAT(KeepCheckpoint(CheckpointPath(dir.path(), 1), dir / "kept"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(*ListDirectory(dir / "kept"), IsEmpty());
}

}  // namespace
}  // namespace gandem
