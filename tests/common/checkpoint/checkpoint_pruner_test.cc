// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/checkpoint_pruner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/file_writer.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CheckpointPrunerTest : public ::testing::Test {
 protected:
  void Commit(int64_t step) {
    const std::string text = absl::StrCat("state ", step);
    const std::string pending = PendingCheckpointPath(dir_.path(), step, 1);
    ASSERT_OK(CreateDirectories(pending));
    ASSERT_OK(WriteFileDurably(pending + "/shard", text));
    const FileSummary summary = *SummarizeFile(pending + "/shard");
    CheckpointManifest manifest;
    manifest.set_step(step);
    manifest.set_run_epoch(1);
    CheckpointFile& file = *manifest.add_files();
    file.set_name("shard");
    file.set_size(summary.size);
    file.set_crc32c(summary.crc32c);
    ASSERT_OK(CommitCheckpoint(dir_.path(), manifest));
  }
  void Commit(const std::vector<int64_t>& steps) {
    for (const int64_t step : steps) Commit(step);
  }
  std::string Shard(int64_t step) {
    return CheckpointPath(dir_.path(), step) + "/shard";
  }
  // Damages a shard without changing its size.
  void Damage(int64_t step) {
    std::string text = *ReadFile(Shard(step));
    text[0] ^= 1;
    ASSERT_OK(WriteFile(Shard(step), text));
  }
  // Returns the remaining checkpoints, newest first.
  std::vector<int64_t> Left() { return *ListCheckpoints(dir_.path()); }
  CheckpointPruner Pruner(int64_t keep_last, int64_t keep_every = 0) {
    return CheckpointPruner({.run_dir = dir_.path(),
                             .keep_last = keep_last,
                             .keep_every = keep_every});
  }

  TempDir dir_;
};

TEST_F(CheckpointPrunerTest, KeepsTheNewestAndTheMultiples) {
  Commit({100, 150, 200, 250, 300, 350});
  ASSERT_OK(Pruner(2, 100).Prune(350));
  EXPECT_THAT(Left(), ElementsAre(350, 300, 200, 100));
  ASSERT_OK(Pruner(1).Prune(350));
  EXPECT_THAT(Left(), ElementsAre(350));
  ASSERT_OK(Pruner(1).Prune(350));
  EXPECT_THAT(Left(), ElementsAre(350));
}

TEST_F(CheckpointPrunerTest, PruningAnEmptyRunSucceeds) {
  EXPECT_OK(Pruner(1).Prune(1));
}

TEST_F(CheckpointPrunerTest, DamagedCheckpointsAreNotCounted) {
  Commit({1, 2, 3, 4, 5, 6});
  Damage(6);
  ASSERT_OK(RemoveAll(Shard(4)));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> damaged,
                       Pruner(2).Prune(6));
  EXPECT_THAT(
      damaged,
      ElementsAre(
          AllOf(HasSubstr("step-000000006: "), HasSubstr("CRC32C")),
          AllOf(HasSubstr("step-000000004: "), HasSubstr("is missing"))));
  EXPECT_THAT(Left(), ElementsAre(6, 5, 4, 3));
}

// The newest checkpoint is damaged, so the run resumed from an older one and
// stopped before it reached that step again.
TEST_F(CheckpointPrunerTest, ADamagedNewerCheckpointCostsNoGoodOne) {
  Commit({600, 800, 664});
  Damage(800);
  CheckpointPruner pruner = Pruner(1);
  ASSERT_OK_AND_ASSIGN(std::vector<std::string> damaged, pruner.Prune(664));
  EXPECT_THAT(damaged, ElementsAre(HasSubstr("step-000000800")));
  EXPECT_THAT(Left(), ElementsAre(800, 664));
  Commit(700);
  ASSERT_OK_AND_ASSIGN(damaged, pruner.Prune(700));
  EXPECT_THAT(damaged, IsEmpty());  // once
  EXPECT_THAT(Left(), ElementsAre(800, 700));
}

TEST_F(CheckpointPrunerTest, TheNewestCheckpointIsKept) {
  Commit({800, 664, 600});
  ASSERT_OK(Pruner(1).Prune(664));
  EXPECT_THAT(Left(), ElementsAre(800, 664));
}

TEST_F(CheckpointPrunerTest, AReplacedDamagedCheckpointIsCounted) {
  Commit({1, 2, 3});
  Damage(3);
  CheckpointPruner pruner = Pruner(1);
  ASSERT_OK(pruner.Prune(3));
  EXPECT_THAT(Left(), ElementsAre(3, 2));
  Commit(3);
  ASSERT_OK(pruner.Prune(3));
  EXPECT_THAT(Left(), ElementsAre(3));
}

TEST_F(CheckpointPrunerTest, ReadsEachCheckpointOnce) {
  Commit({1, 2, 3});
  CheckpointPruner pruner = Pruner(2);
  ASSERT_OK(pruner.Prune(3));
  EXPECT_THAT(Left(), ElementsAre(3, 2));
  // The checkpoint was read before, so only its size is compared.
  Damage(3);
  Commit(4);
  ASSERT_OK_AND_ASSIGN(std::vector<std::string> damaged, pruner.Prune(4));
  EXPECT_THAT(damaged, IsEmpty());
  EXPECT_THAT(Left(), ElementsAre(4, 3));
  // A checkpoint with a missing file is damaged.
  ASSERT_OK(RemoveAll(Shard(4)));
  Commit(5);
  ASSERT_OK(pruner.Prune(5));
  EXPECT_THAT(Left(), ElementsAre(5, 4, 3));
}

TEST_F(CheckpointPrunerTest, ListsTheFolderOnce) {
  Commit({10, 20});
  CheckpointPruner pruner = Pruner(1);
  ASSERT_OK(pruner.Prune(20));
  Commit({15, 30});
  ASSERT_OK(pruner.Prune(30));
  EXPECT_THAT(Left(), ElementsAre(30, 15));
}

TEST_F(CheckpointPrunerTest, ChecksTheNewestCheckpointsAgain) {
  for (int64_t step = 1; step <= 13; ++step) Commit(step);
  CheckpointPruner pruner = Pruner(12);
  ASSERT_OK(pruner.Prune(13));
  EXPECT_THAT(Left(), SizeIs(12));
  ASSERT_OK(RemoveAll(Shard(10)));  // the fourth
  ASSERT_OK(RemoveAll(Shard(3)));   // too old to be checked
  Commit(14);
  ASSERT_OK(pruner.Prune(14));
  EXPECT_THAT(Left(), SizeIs(13));
}

TEST_F(CheckpointPrunerTest, RemovingAMissingCheckpointSucceeds) {
  Commit({10, 20, 30});
  CheckpointPruner pruner = Pruner(2);
  ASSERT_OK(pruner.Prune(30));
  EXPECT_THAT(Left(), ElementsAre(30, 20));
  ASSERT_OK(RemoveAll(CheckpointPath(dir_.path(), 20)));
  Commit({40, 50});
  ASSERT_OK(pruner.Prune(40));
  ASSERT_OK(pruner.Prune(50));
  EXPECT_THAT(Left(), ElementsAre(50, 40));
}

TEST_F(CheckpointPrunerTest, ReadsNothingIfNothingIsToBeRemoved) {
  Commit({10, 20, 25});
  Damage(25);
  for (CheckpointPruner pruner : {Pruner(3), Pruner(1, 5)}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> damaged,
                         pruner.Prune(25));
    EXPECT_THAT(damaged, IsEmpty());
  }
  EXPECT_THAT(Left(), ElementsAre(25, 20, 10));
}

}  // namespace
}  // namespace gandem
