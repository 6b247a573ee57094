// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/open_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/files/sha256.h"
#include "common/process/signals.h"
#include "control_plane/commands/run_dataset.h"
#include "pipeline/read_stop.h"
#include "tests/pipeline/idx_files.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::IdxBytes;
using ::gandem::testing::NamedBytes;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::gandem::testing::WritePlain;
using ::gandem::testing::WriteTree;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kOpenRunRecipe[] = R"(
  rounds: 20
  generator { network { mlp { hidden: 8 } } batch_size: 4 }
  discriminator { network { mlp { hidden: 8 } } batch_size: 4 }
)";

class OpenRunTest : public ::testing::Test {
 protected:
  OpenRunTest() {
    BlockSignals({SIGINT, SIGTERM});  // like main() for `train`
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
  // Writes the files of a run that was trained for `rounds` rounds. Its config
  // lacks the line that contains `without`.
  void TrainFor(int64_t rounds, const std::string& without = "") {
    ASSERT_OK_AND_ASSIGN(const RunSetup setup, PrepareRun(options_));
    std::string text = setup.coordinator.config_text;
    if (!without.empty()) {
      const size_t begin = text.rfind('\n', text.find(without));
      ASSERT_NE(begin, std::string::npos);
      text.erase(begin, text.find('\n', begin + 1) - begin);
    }
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

// Only one thread may wait for signals, so measuring starts no other.
TEST_F(OpenRunTest, CtrlCStopsTheMeasurement) {
  setenv("XDG_CACHE_HOME", (dir_ / "cache").c_str(), 1);
  options_.plan.plan = "AUTO";
  const auto measure = [](const RunConfig&,
                          const std::string&) -> absl::StatusOr<Profile> {
    kill(getpid(), SIGINT);
    while (!ScopedReadStop::Stopped()) absl::SleepFor(absl::Milliseconds(1));
    return absl::CancelledError("the same command goes on");
  };
  EXPECT_THAT(PrepareRun(options_, measure).status(),
              StatusIs(absl::StatusCode::kCancelled,
                       HasSubstr("the same command goes on")));
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(OpenRunTest, ConflictingFlagsAreListed) {
  options_.certificates = dir_ / "certs";
  options_.insecure_network = true;
  options_.evaluate_args = "--num 10";
  EXPECT_THAT(Prepare(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--certificates needs --listen"),
                             HasSubstr("--insecure_network needs --listen"),
                             HasSubstr("need --evaluate_every N"))));
}

TEST_F(OpenRunTest, PathsThatAreNotUtf8AreRejected) {
  options_.data = dir_ / "photos-\xff";
  EXPECT_THAT(Prepare(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--data"), HasSubstr("photos-\\xff"),
                             HasSubstr("is not UTF-8"))));
  options_.data = "";
  options_.run_dir = dir_ / "run-\xff";
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  AllOf(HasSubstr("run-\\xff"),
                                        HasSubstr("is not UTF-8"))));
  EXPECT_FALSE(PathExists(options_.run_dir));
}

TEST_F(OpenRunTest, DatasetErrorsNameTheField) {
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

TEST_F(OpenRunTest, DatasetMayBeOnTheWorkersHostsOnly) {
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

TEST_F(OpenRunTest, DataReplacesTheRecipesImages) {
  WriteTree(dir_ / "photos", {{"a/1.png", PngBytes(NoiseImage(3, 9, 8, 1))},
                              {"b/2.png", PngBytes(NoiseImage(3, 8, 8, 2))}});
  options_.data = dir_ / "photos";
  options_.sets = {"data.image_size=8"};
  ASSERT_OK_AND_ASSIGN(const RunSetup setup, PrepareRun(options_));
  EXPECT_THAT(setup.notices.front(),
              HasSubstr("data: 2 images, 8 to 9 x 8, RGB, 2 classes: a folder "
                        "of images "));
  EXPECT_THAT(setup.coordinator.config_text,
              AllOf(HasSubstr("idx_images: \"\""), HasSubstr("channels: 3"),
                    HasSubstr("fit: RESIZE"), HasSubstr("crop: CENTER"),
                    HasSubstr("resize: BICUBIC"), HasSubstr("num_classes: 0"),
                    HasSubstr(absl::StrCat("source: \"",
                                           std::string(dir_ / "photos")))));
}

TEST_F(OpenRunTest, ANetworkThatSetReplacesIsNamed) {
  options_.sets.push_back("generator.network.mlp.hidden=7");
  ASSERT_OK_AND_ASSIGN(const RunSetup same, PrepareRun(options_));
  EXPECT_THAT(same.notices, Not(Contains(HasSubstr("--set replaces"))));
  ASSERT_OK(WriteFile(
      options_.recipe,
      absl::StrReplaceAll(kOpenRunRecipe,
                          {{"generator { network { mlp { hidden: 8 } }",
                            "generator { network { dcgan { width: 8 } }"}})));
  options_.run_dir = dir_ / "other";
  ASSERT_OK_AND_ASSIGN(const RunSetup other, PrepareRun(options_));
  EXPECT_THAT(other.notices,
              Contains("--set replaces the recipe's generator network dcgan by "
                       "mlp"));
}

TEST_F(OpenRunTest, ConditionalRecipesTakeTheClassesOfTheData) {
  WriteTree(dir_ / "photos", {{"a/1.png", PngBytes(NoiseImage(1, 8, 8, 1))},
                              {"b/2.png", PngBytes(NoiseImage(1, 8, 8, 2))}});
  ASSERT_OK(WriteFile(
      options_.recipe,
      absl::StrCat(kOpenRunRecipe, "data { num_classes: 10 image_size: 8 }")));
  options_.data = dir_ / "photos";
  options_.sets = {};
  ASSERT_OK_AND_ASSIGN(const RunSetup setup, PrepareRun(options_));
  EXPECT_THAT(setup.coordinator.config_text,
              AllOf(HasSubstr("num_classes: 2"), HasSubstr("channels: 1")));
}

TEST_F(OpenRunTest, UnusableDataIsRejectedBeforeTheRunBegins) {
  options_.sets = {};
  options_.data = dir_ / "none";
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kNotFound,
                                  AllOf(HasSubstr("data.source: "),
                                        HasSubstr(options_.data),
                                        HasSubstr("recipe's first lines"))));
  WriteTree(dir_ / "broken", {{"1.png", "x"}});
  options_.data = dir_ / "broken";
  EXPECT_THAT(Prepare(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("1.png")));
  EXPECT_FALSE(PathExists(options_.run_dir)) << "nothing was begun";
  // External workers may have the data.
  options_.data = dir_ / "none";
  options_.external = true;
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("set data.channels, data.fit")));
  options_.sets = {"data.channels=3", "data.fit=RESIZE", "data.crop=CENTER",
                   "data.resize=BICUBIC"};
  EXPECT_OK(Prepare());
}

TEST_F(OpenRunTest, ExcludeListMayMoveButNotChange) {
  WriteTree(dir_ / "photos", {{"1.png", PngBytes(NoiseImage(1, 8, 8, 1))},
                              {"2.png", PngBytes(NoiseImage(1, 8, 8, 2))},
                              {"3.png", ""}});
  options_.data = dir_ / "photos";
  options_.sets = {"data.image_size=8"};
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kDataLoss,
                                  AllOf(HasSubstr("3.png: it has no bytes"),
                                        HasSubstr("gandem dataset verify"))));
  const std::string list = dir_ / "bad.txt";
  ASSERT_OK(WriteFile(list, "3.png\n"));
  options_.sets = {"data.image_size=8", "data.exclude=" + list};
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("data.max_excluded")));
  options_.sets.push_back("data.max_excluded=0.5");
  {  // releases the lock of the run at its end
    ASSERT_OK_AND_ASSIGN(const RunSetup setup, PrepareRun(options_));
    EXPECT_THAT(setup.notices.front(), HasSubstr("2 images (1 left out)"));
    EXPECT_THAT(setup.coordinator.config_text,
                AllOf(HasSubstr(absl::StrCat("exclude: \"", list, "\"")),
                      HasSubstr(absl::StrCat("exclude_sha256: \"",
                                             *Sha256OfFile(list), "\""))));
  }
  TrainFor(10);
  EXPECT_OK(Prepare());
  const std::string moved = dir_ / "moved.txt";
  std::filesystem::rename(list, moved);
  options_.sets[1] = "data.exclude=" + moved;
  EXPECT_OK(Prepare());
  ASSERT_OK(WriteFile(moved, "2.png\n3.png\n"));
  options_.sets[2] = "data.max_excluded=0.9";
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("data.exclude_sha256: "),
                                        HasSubstr("another --run_dir"))));
}

TEST_F(OpenRunTest, ExcludeListMayBeElsewhere) {
  options_.data = dir_ / "none";
  options_.external = true;
  options_.sets = {"data.channels=3",      "data.fit=RESIZE",
                   "data.crop=CENTER",     "data.resize=BICUBIC",
                   "data.exclude=bad.txt", "data.image_size=8"};
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("set data.exclude_sha256")));
  options_.sets.push_back("data.exclude_sha256=" + std::string(64, '0'));
  EXPECT_OK(Prepare());
}

TEST_F(OpenRunTest, AddedOrRemovedImagesMakeAnotherDataset) {
  const std::string folder = dir_ / "here";
  const NamedBytes files = {{"1.png", PngBytes(NoiseImage(1, 8, 8, 1))},
                            {"2.png", PngBytes(NoiseImage(1, 8, 8, 2))}};
  WriteTree(folder, files);
  options_.sets = {"data.image_size=8"};
  options_.data = folder;
  TrainFor(10);
  const auto is_another = [this] {
    EXPECT_THAT(
        Prepare(),
        StatusIs(
            absl::StatusCode::kFailedPrecondition,
            AllOf(HasSubstr("data.listing_sha256: "),
                  HasSubstr("resumes only with the images that it began"))));
  };
  std::filesystem::remove(folder + "/1.png");
  is_another();
  WriteTree(folder, files);
  EXPECT_OK(Prepare());
  WriteTree(folder, {{"3.png", PngBytes(NoiseImage(1, 8, 8, 3))}});
  is_another();
}

TEST_F(OpenRunTest, RunsWithoutAListingCanResume) {
  WriteTree(dir_ / "here", {{"1.png", PngBytes(NoiseImage(1, 8, 8, 1))}});
  options_.sets = {"data.image_size=8"};
  options_.data = dir_ / "here";
  TrainFor(10, "listing_sha256: ");
  EXPECT_OK(Prepare());
}

TEST_F(OpenRunTest, MovedSourcesAreTheSame) {
  const NamedBytes files = {{"1.png", PngBytes(NoiseImage(1, 8, 8, 1))}};
  WriteTree(dir_ / "here", files);
  options_.sets = {"data.image_size=8"};
  options_.data = dir_ / "here";
  TrainFor(10);
  EXPECT_OK(Prepare());
  WriteTree(dir_ / "there", files);
  options_.data = dir_ / "there";
  EXPECT_OK(Prepare());
  WriteTree(dir_ / "there", {{"1.png", PngBytes(NoiseImage(1, 8, 8, 2))}});
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("data.source: ")));
}

TEST_F(OpenRunTest, MovedDatasetsAreTheSame) {
  TrainFor(10);
  const std::string moved = dir_ / "moved";
  std::filesystem::rename(images_, moved);
  UseImages(moved);
  EXPECT_OK(Prepare());
  // Datasets are compared with the run's beginning, not with its last start.
  const std::string other = WritePlain(
      dir_ / "other", IdxBytes({3, 1, 2}, {0, 255, 51, 204, 127, 129}));
  UseImages(other);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("data.idx_images: "),
                                        HasSubstr(other))));
  UseImages(moved);
  EXPECT_OK(Prepare());
}

TEST_F(OpenRunTest, RunsWithoutCheckpointsMayChangeTheData) {
  ASSERT_OK(Prepare());
  UseImages(WritePlain(dir_ / "other", IdxBytes({1, 1, 2}, {0, 255})));
  TrainFor(10);
  const std::string moved = WritePlain(dir_ / "moved", bytes_);
  UseImages(moved);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("data.idx_images: ")));
}

TEST_F(OpenRunTest, FewerRoundsThanCompletedAreRejected) {
  TrainFor(20);
  EXPECT_OK(Prepare());
  options_.sets.push_back("rounds=10");
  EXPECT_THAT(Prepare(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("rounds is 10, but 20 rounds are done")));
  options_.sets.back() = "rounds=30";
  EXPECT_OK(Prepare());
}

TEST_F(OpenRunTest, FilesInPlaceOfFoldersAreRejected) {
  for (const std::string name :
       {"checkpoints", "samples", "logs", "state", "tensorboard"}) {
    SCOPED_TRACE(name);
    ASSERT_OK(RemoveAll(options_.run_dir));
    ASSERT_OK(CreateDirectories(options_.run_dir));
    ASSERT_OK(WriteFile(absl::StrCat(options_.run_dir, "/", name), ""));
    EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr(absl::StrCat("/", name, "'"))));
  }
}

TEST_F(OpenRunTest, BrokenLinksInPlaceOfFoldersAreRejected) {
  for (const std::string name :
       {"checkpoints", "samples", "logs", "tensorboard"}) {
    SCOPED_TRACE(name);
    ASSERT_OK(RemoveAll(options_.run_dir));
    ASSERT_OK(CreateDirectories(options_.run_dir));
    const std::string path = absl::StrCat(options_.run_dir, "/", name);
    const std::string target = dir_ / "target";
    std::filesystem::create_symlink(target, path);
    EXPECT_THAT(Prepare(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(absl::StrCat("/", name, "'")),
                               HasSubstr("is no folder but a link"))));
    ASSERT_OK(CreateDirectories(target));
    EXPECT_OK(Prepare());
    ASSERT_OK(RemoveAll(target));
  }
}

TEST_F(OpenRunTest, PipesInPlaceOfRecipesAreRejected) {
  ASSERT_OK(RemoveAll(options_.recipe));
  ASSERT_EQ(mkfifo(options_.recipe.c_str(), 0600), 0);
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("a named pipe")));
}

}  // namespace
}  // namespace gandem
