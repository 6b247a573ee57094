// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/metrics_writer.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "common/files/rotation.h"
#include "common/results/round_history.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using Json = nlohmann::json;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

RoundMetrics MetricsOf(Role role, int64_t epoch, int64_t round) {
  RoundMetrics metrics;
  metrics.set_role(role);
  metrics.set_run_epoch(epoch);
  metrics.set_round(round);
  metrics.set_unix_seconds(1e9);
  metrics.set_loss(0.5);
  metrics.set_images(64);
  metrics.set_round_seconds(0.5);
  return metrics;
}

class MetricsWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<MetricsWriter> Open() {
    auto writer = MetricsWriter::Open(run_dir_.path());
    EXPECT_OK(writer);
    return *std::move(writer);
  }
  // Returns (run epoch, round) of each line.
  std::vector<std::pair<int64_t, int64_t>> Lines() {
    std::vector<std::pair<int64_t, int64_t>> lines;
    const std::string text = ReadFile(run_dir_ / "metrics.jsonl").value_or("?");
    for (const auto line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const Json json = Json::parse(line.begin(), line.end());
      lines.emplace_back(json.at("run_epoch"), json.at("round"));
    }
    return lines;
  }
  std::string Events() {
    std::string all;
    const auto names = ListDirectory(run_dir_ / "tensorboard");
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      all += ReadFile(run_dir_ / "tensorboard/" + name).value_or("");
    }
    return all;
  }
  TempDir run_dir_;
};

TEST_F(MetricsWriterTest, LinesAndEventsAreWritten) {
  {
    auto writer = Open();
    writer->BeginEpoch(0);
    writer->Add(MetricsOf(GENERATOR, 1, 0));
    writer->Add(MetricsOf(DISCRIMINATOR, 1, 0));
    writer->Add(MetricsOf(GENERATOR, 1, 1));
  }
  EXPECT_THAT(Lines(), SizeIs(3));
  EXPECT_THAT(Events(), HasSubstr("generator/loss"));
  EXPECT_THAT(Events(), HasSubstr("generator/images_per_second"));
  EXPECT_THAT(Events(), HasSubstr("discriminator/logit_real"));
  for (const char* const role : {"generator", "discriminator"}) {
    EXPECT_THAT(Events(),
                HasSubstr(absl::StrCat(role, "/wait_feedback_seconds")));
  }
}

TEST_F(MetricsWriterTest, WritesTheTimesOfARound) {
  {
    auto writer = Open();
    writer->BeginEpoch(0);
    writer->Add(MetricsOf(GENERATOR, 1, 0));
    RoundMetrics metrics = MetricsOf(DISCRIMINATOR, 1, 0);
    metrics.set_workers(2);
    writer->Add(metrics);
  }
  for (const char* const scalar :
       {"generator/compute_seconds", "discriminator/compute_seconds",
        "discriminator/hidden_sync_seconds", "discriminator/sync_bytes"}) {
    EXPECT_THAT(Events(), HasSubstr(scalar));
  }
  // A fleet of one worker has no communication.
  EXPECT_THAT(Events(), Not(HasSubstr("generator/sync_bytes")));
  EXPECT_THAT(Events(), Not(HasSubstr("generator/hidden_sync_seconds")));
}

TEST_F(MetricsWriterTest, TheProbabilityOfAugmentationIsWritten) {
  {
    auto writer = Open();
    writer->BeginEpoch(0);
    writer->Add(MetricsOf(DISCRIMINATOR, 1, 0));
  }
  EXPECT_THAT(Events(), Not(HasSubstr("discriminator/ada_")));
  {
    auto writer = Open();
    writer->BeginEpoch(0);
    RoundMetrics metrics = MetricsOf(DISCRIMINATOR, 1, 1);
    metrics.set_ada_p(0);
    metrics.set_ada_r_t(0.5);
    writer->Add(metrics);
  }
  EXPECT_THAT(Events(), HasSubstr("discriminator/ada_p"));
  EXPECT_THAT(Events(), HasSubstr("discriminator/ada_r_t"));
  EXPECT_THAT(ReadFile(run_dir_ / "metrics.jsonl").value_or(""),
              HasSubstr("\"ada_p\":0"));
}

// Signal 3 and noise 8 give the squares 3 + 8 / 2 and 3 + 8 / 4.
TEST_F(MetricsWriterTest, WritesGradientNoise) {
  {
    auto writer = Open();
    writer->BeginEpoch(0);
    RoundMetrics metrics = MetricsOf(GENERATOR, 1, 0);
    GradientNoise& noise = *metrics.add_gradient_noise();
    noise.set_part(GradientNoise::GENERATED);
    noise.set_small_images(2);
    noise.set_large_images(4);
    noise.set_small_square(7);
    noise.set_large_square(5);
    writer->Add(metrics);
    writer->Add(MetricsOf(DISCRIMINATOR, 1, 0));
  }
  EXPECT_THAT(Events(), HasSubstr("generator/gradient_signal_generated"));
  EXPECT_THAT(Events(), HasSubstr("generator/gradient_noise_generated"));
  EXPECT_THAT(Events(), Not(HasSubstr("discriminator/gradient_noise")));
}

TEST_F(MetricsWriterTest, FullFilesAreRotated) {
  const MetricsWriter::Limits limits = {.file_bytes = 4096, .older_files = 2};
  constexpr int64_t kRounds = 200;
  for (const int64_t epoch : {1, 2}) {  // the second epoch appends
    ASSERT_OK_AND_ASSIGN(auto writer,
                         MetricsWriter::Open(run_dir_.path(), limits));
    writer->BeginEpoch(0);
    for (int64_t round = 0; round < kRounds; ++round) {
      writer->Add(MetricsOf(GENERATOR, epoch, round));
    }
  }
  const std::string path = run_dir_ / "metrics.jsonl";
  EXPECT_LT(FileSize(path), 4096);
  for (const int number : {1, 2}) {
    // Each file has one line more than the limit.
    EXPECT_GE(FileSize(RotatedName(path, number)), 4096);
    EXPECT_LT(FileSize(RotatedName(path, number)), 2 * 4096);
  }
  EXPECT_FALSE(PathExists(RotatedName(path, 3)));
  int64_t events = 0;
  ASSERT_OK_AND_ASSIGN(const auto names,
                       ListDirectory(run_dir_ / "tensorboard"));
  EXPECT_GE(names.size(), 2);
  for (const std::string& name : names) {
    events += FileSize(run_dir_ / "tensorboard/" + name);
  }
  EXPECT_LT(events, 4 * 4096);
  // No line is missing between the files, and all files are read as one.
  ASSERT_OK_AND_ASSIGN(const RoundHistory history,
                       RoundHistory::Read(run_dir_.path()));
  const auto& rounds = history.rounds().at({GENERATOR, 0});
  EXPECT_EQ(rounds.rbegin()->first, kRounds - 1);
  EXPECT_EQ(static_cast<int64_t>(rounds.size()),
            rounds.rbegin()->first - rounds.begin()->first + 1);
  EXPECT_EQ(history.unreadable_lines(), 0);
}

TEST_F(MetricsWriterTest, FailedRotationsLoseNoRecord) {
  const MetricsWriter::Limits limits = {.file_bytes = 1, .older_files = 1};
  // A folder has the name of the older file.
  ASSERT_OK(CreateDirectories(run_dir_ / "metrics.1.jsonl/full"));
  {
    ASSERT_OK_AND_ASSIGN(auto writer,
                         MetricsWriter::Open(run_dir_.path(), limits));
    writer->Add(MetricsOf(GENERATOR, 1, 0));
    writer->Add(MetricsOf(GENERATOR, 1, 1));
    absl::Status error;
    while ((error = writer->TakeError()).ok()) {
    }
    EXPECT_THAT(std::string(error.message()), HasSubstr("metrics.jsonl"));
  }
  EXPECT_THAT(Lines(), SizeIs(2));
}

TEST_F(MetricsWriterTest, ContinuesAfterAnIncompleteLine) {
  ASSERT_OK(WriteFile(run_dir_ / "metrics.jsonl",
                      "{\"run_epoch\":1,\"round\":0}\n{\"run_epoch\":1,\"ro"));
  { Open()->Add(MetricsOf(GENERATOR, 2, 0)); }
  EXPECT_THAT(Lines(),
              ::testing::ElementsAre(std::pair(1, 0), std::pair(2, 0)));
}

TEST_F(MetricsWriterTest, FilesWithoutANewlineHaveNoLine) {
  ASSERT_OK(WriteFile(run_dir_ / "metrics.jsonl", std::string(10'000, 'x')));
  { Open()->Add(MetricsOf(GENERATOR, 2, 0)); }
  EXPECT_THAT(Lines(), SizeIs(1));
}

TEST_F(MetricsWriterTest, GridsOutsideTheRunFolderAreRejected) {
  for (const char* const name : {"/etc/passwd", "../secret.png"}) {
    auto writer = Open();
    writer->BeginEpoch(0);
    RoundMetrics metrics = MetricsOf(GENERATOR, 1, 0);
    metrics.set_sample_grid(name);
    writer->Add(metrics);
    absl::Status error;
    while ((error = writer->TakeError()).ok()) {
    }
    EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(MetricsWriterTest, ErrorsAreReturnedOnceAndWritingContinues) {
  {
    auto writer = Open();
    writer->BeginEpoch(0);
    RoundMetrics metrics = MetricsOf(GENERATOR, 1, 0);
    metrics.set_sample_grid("samples/none.png");
    writer->Add(metrics);
    absl::Status error;
    while ((error = writer->TakeError()).ok()) {
    }
    EXPECT_THAT(std::string(error.message()), HasSubstr("none.png"));
    EXPECT_OK(writer->TakeError());
    writer->Add(MetricsOf(GENERATOR, 1, 1));
  }
  EXPECT_THAT(Lines(), SizeIs(2));
}

}  // namespace
}  // namespace gandem
