// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/open_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "tests/pipeline/idx_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::IdxBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::gandem::testing::WritePlain;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kOpenRunRecipe[] = R"(
  rounds: 20
  generator { network { mlp { hidden: 8 } } batch_size: 4 }
  discriminator { network { mlp { hidden: 8 } } batch_size: 4 }
)";

class OpenRunTest : public ::testing::Test {
 protected:
  OpenRunTest() {
    options_.recipe = dir_ / "recipe.textproto";
    options_.run_dir = dir_ / "run";
    EXPECT_OK(WriteFile(options_.recipe, kOpenRunRecipe));
    UseImages(images_);
  }
  void UseImages(const std::string& path, const std::string& labels = "") {
    options_.sets = {absl::StrCat("data.idx_images=", path),
                     absl::StrCat("data.idx_labels=", labels)};
  }
  absl::Status Prepare() { return PrepareRun(options_).status(); }
  // What a training leaves: a run that has begun, with `rounds` rounds.
  void TrainFor(int64_t rounds) {
    ASSERT_OK_AND_ASSIGN(const RunSetup setup, PrepareRun(options_));
    const std::string text = setup.coordinator.config_text;
    const std::string folder = PendingCheckpointPath(setup.run_dir, rounds, 1);
    ASSERT_OK(CreateDirectories(folder));
    ASSERT_OK(WriteFileDurably(folder + "/config.textproto", text));
    CheckpointManifest manifest;
    manifest.set_step(rounds);
    manifest.set_run_epoch(1);
    CheckpointFile& file = *manifest.add_files();
    file.set_name("config.textproto");
    file.set_size(static_cast<int64_t>(text.size()));
    file.set_crc32c(Crc32c(std::as_bytes(std::span(text))));
    ASSERT_OK(CommitCheckpoint(setup.run_dir, manifest));
  }

  const TempDir dir_;
  const std::string bytes_ = IdxBytes({3, 1, 2}, {0, 255, 51, 204, 127, 128});
  const std::string images_ = WritePlain(dir_ / "images", bytes_);
  TrainOptions options_;
};

TEST_F(OpenRunTest, WhatIsWrongWithTheDatasetNamesItsField) {
  const std::string none = dir_ / "none";
  UseImages(none);
  EXPECT_THAT(Prepare(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("data.idx_images: "), HasSubstr(none))));
  const std::string cut =
      WritePlain(dir_ / "cut", bytes_.substr(0, bytes_.size() - 1));
  UseImages(cut);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kDataLoss,
                                  AllOf(HasSubstr("data.idx_images: "),
                                        HasSubstr("truncated"))));
  UseImages(images_, images_);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("data.idx_labels: ")));
  const std::string pipe = dir_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  UseImages(images_, pipe);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  AllOf(HasSubstr("data.idx_labels: "),
                                        HasSubstr("a named pipe"))));
  EXPECT_FALSE(PathExists(options_.run_dir)) << "nothing was begun";
}

TEST_F(OpenRunTest, WorkersElsewhereMayHaveTheDataset) {
  UseImages("/nonexistent/images");
  options_.external = true;
  EXPECT_OK(Prepare());
}

TEST_F(OpenRunTest, WorkersGetAbsolutePaths) {
  const std::string absolute = std::filesystem::canonical(images_);
  UseImages(std::filesystem::relative(images_));
  ASSERT_OK_AND_ASSIGN(const RunSetup setup, PrepareRun(options_));
  EXPECT_THAT(setup.coordinator.config_text,
              AllOf(HasSubstr(absl::StrCat("idx_images: \"", absolute, "\"")),
                    HasSubstr("idx_labels: \"\"")));
}

TEST_F(OpenRunTest, ADatasetThatMovedIsTheSame) {
  TrainFor(10);
  const std::string moved = dir_ / "moved";
  std::filesystem::rename(images_, moved);
  UseImages(moved);
  EXPECT_OK(Prepare());
  // It is compared with what the run began with, not with the last start.
  const std::string other = WritePlain(
      dir_ / "other", IdxBytes({3, 1, 2}, {0, 255, 51, 204, 127, 129}));
  UseImages(other);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("data.idx_images: "),
                                        HasSubstr(other))));
  UseImages(moved);
  EXPECT_OK(Prepare());
}

TEST_F(OpenRunTest, ARunWithoutCheckpointsMayTakeOtherData) {
  ASSERT_OK(Prepare());
  UseImages(WritePlain(dir_ / "other", IdxBytes({1, 1, 2}, {0, 255})));
  TrainFor(10);
  const std::string moved = WritePlain(dir_ / "moved", bytes_);
  UseImages(moved);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("data.idx_images: ")));
}

TEST_F(OpenRunTest, FewerRoundsThanAreDoneAreRefused) {
  TrainFor(20);
  EXPECT_OK(Prepare());
  options_.sets.push_back("rounds=10");
  EXPECT_THAT(Prepare(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("rounds is 10, but 20 rounds are done")));
  options_.sets.back() = "rounds=30";
  EXPECT_OK(Prepare());
}

TEST_F(OpenRunTest, AFileInPlaceOfAFolderIsRefused) {
  for (const std::string name :
       {"checkpoints", "samples", "logs", "state", "tensorboard"}) {
    SCOPED_TRACE(name);
    ASSERT_OK(RemoveAll(options_.run_dir));
    ASSERT_OK(CreateDirectories(options_.run_dir));
    ASSERT_OK(WriteFile(absl::StrCat(options_.run_dir, "/", name), ""));
    EXPECT_THAT(Prepare(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(absl::StrCat("/", name, "'")),
                               HasSubstr("is no folder"))));
  }
}

}  // namespace
}  // namespace gandem
