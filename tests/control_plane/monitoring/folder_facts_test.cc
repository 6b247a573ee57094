// SPDX-License-Identifier: Apache-2.0
#include "control_plane/monitoring/folder_facts.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::Gt;
using ::testing::IsEmpty;

class FolderFactsTest : public ::testing::Test {
 protected:
  void WriteCard(const std::string& name, int64_t step, double fid) {
    MetricCard card;
    Metric* const metric = card.add_metrics();
    metric->set_name("FID");
    metric->set_value(fid);
    card.mutable_images()->mutable_generator()->set_step(step);
    ASSERT_OK(CreateDirectories(run_dir_ / "evaluation"));
    ASSERT_OK(WriteMetricCard(run_dir_ / ("evaluation/" + name), card));
  }

  TempDir run_dir_;
  FolderReader reader_{run_dir_.path()};
};

TEST_F(FolderFactsTest, AnEmptyFolderHasADiskAndNoMore) {
  const FolderFacts facts = reader_.Read(0);
  ASSERT_TRUE(facts.disk.has_value());
  EXPECT_THAT(facts.disk->size_bytes, Gt(0));
  EXPECT_LE(facts.disk->free_bytes, facts.disk->size_bytes);
  EXPECT_FALSE(facts.checkpoint_time.has_value());
  EXPECT_THAT(facts.cards, IsEmpty());
}

TEST_F(FolderFactsTest, AFolderThatIsGoneTellsNothing) {
  FolderReader gone(run_dir_ / "gone");
  EXPECT_FALSE(gone.Read(5).disk.has_value());
  EXPECT_FALSE(gone.Read(5).checkpoint_time.has_value());
}

TEST_F(FolderFactsTest, ACheckpointIsAsOldAsItsManifest) {
  const std::string path = CheckpointPath(run_dir_.path(), 5);
  const std::string manifest = path + "/" + kManifestName;
  ASSERT_OK(CreateDirectories(path));
  ASSERT_OK(WriteFile(manifest, ""));
  const timespec times[2] = {{1000000000, 0}, {1000000007, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, manifest.c_str(), times, 0), 0);
  EXPECT_EQ(reader_.Read(5).checkpoint_time, absl::FromUnixSeconds(1000000007));
}

TEST_F(FolderFactsTest, TheCardOfTheMostRoundsCounts) {
  WriteCard("step-000000200-fid-b", 200, 41.5);
  WriteCard("step-000000100-fid-a", 100, 80);
  EXPECT_EQ(reader_.Read(0).cards.at("FID").value, 41.5);
  WriteCard("step-000000300-fid-c", 300, 30);
  const CardValue newest = reader_.Read(0).cards.at("FID");
  EXPECT_EQ(newest.value, 30);
  EXPECT_EQ(newest.step, 300);
}

TEST_F(FolderFactsTest, AFileThatIsNoCardIsLeftOut) {
  WriteCard("step-000000200-fid-b", 200, 41.5);
  ASSERT_OK(WriteFile(run_dir_ / "evaluation/z.textproto", "no card {"));
  EXPECT_EQ(reader_.Read(0).cards.at("FID").value, 41.5);
}

}  // namespace
}  // namespace gandem
