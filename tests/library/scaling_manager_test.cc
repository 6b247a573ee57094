// SPDX-License-Identifier: Apache-2.0
//
// Tests with a shell script as `gandem`: its arguments and the use of its
// answers. tests/integration/networks/library_test.py uses the real `gandem`.
#include "gandem/scaling_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/files/proto_json.h"
#include "proto/checkpoint.pb.h"
#include "proto/metrics.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// Config of a run of the recipe, as in its folder.
constexpr char kRunConfig[] = R"(
  name: "tiny"
  rounds: 5
  data { image_size: 8 fit: RESIZE }
  schedule { discriminator_steps_per_round: 3 }
  generator {
    network { mlp { hidden: 4 } } batch_size: 24 optimizer { adam {} }
  }
  discriminator {
    network { mlp { hidden: 4 } } batch_size: 8 optimizer { adam {} }
  }
)";

constexpr char kText[] = R"(
  name: "tiny"
  rounds: 5
  schedule { discriminator_steps_per_round: 3 }
  generator { network { mlp { hidden: 4 } } optimizer { adam {} } }
  discriminator { network { mlp { hidden: 4 } } optimizer { adam {} } }
)";

// Returns the message of the gandem::Error thrown by `act`, or "".
template <typename Act>
std::string ErrorOf(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class ScalingManagerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("GANDEM_PROGRAMS");
    unsetenv("GANDEM_WORKER");
    ASSERT_OK(CreateDirectories(programs_));
    // Keeps what it was asked, one argument a line.
    PlayGandem("exit 0");
    MakeProgram(worker_, "exit 0");
  }

  static void MakeProgram(const std::string& path, const std::string& script) {
    ASSERT_OK(WriteFile(path, absl::StrCat("#!/bin/sh\n", script, "\n")));
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  void PlayGandem(const std::string& script) {
    MakeProgram(programs_ + "/gandem",
                absl::StrCat("printf '%s\\n' \"$@\" >", asked_,
                             "\necho \"$GANDEM_WORKER $GANDEM_PROGRAMS\" >",
                             asked_, ".environment\n", script));
  }
  ScalingManager Manager(const Recipe& recipe, int64_t batch_size = 8,
                         int num_workers = 3) const {
    return ScalingManager(recipe, batch_size, num_workers, run_dir_, programs_);
  }
  std::string Asked() const { return ReadFile(asked_, 1 << 20).value_or(""); }

  // Writes the files that a run of five rounds leaves.
  void MakeRun() const {
    ASSERT_OK(CreateDirectories(run_dir_));
    ASSERT_OK(WriteFile(run_dir_ + "/config.textproto", kRunConfig));
  }

  TempDir folder_;
  const std::string programs_ = folder_ / "bin";
  const std::string run_dir_ = folder_ / "run";
  const std::string worker_ = folder_ / "tiny_worker";
  const std::string asked_ = folder_ / "asked";
};

TEST_F(ScalingManagerTest, AsksForTheRunThatWasDescribed) {
  Recipe recipe = Recipe::FromText(kText);
  recipe.Set("generator.workers", "2");
  ScalingManager manager = Manager(recipe);
  const TrainResult result =
      manager.Train({.networks = "tiny", .worker = worker_});
  EXPECT_TRUE(result.is_complete);
  EXPECT_EQ(result.exit_reason, "complete");
  EXPECT_EQ(result.checkpoint, "");  // the script has made none
  const std::string asked = Asked();
  EXPECT_THAT(asked, HasSubstr(absl::StrCat("train\n", run_dir_,
                                            "/recipe.textproto\n--run_dir\n",
                                            run_dir_, "\n")));
  // REUSED: three steps of a round train on one batch of the generator.
  EXPECT_THAT(asked, HasSubstr("--set\ngenerator.batch_size=24\n"));
  EXPECT_THAT(asked, HasSubstr("--set\ndiscriminator.batch_size=8\n"));
  EXPECT_THAT(asked, HasSubstr("--set\ngenerator.workers=1\n"));
  EXPECT_THAT(asked, HasSubstr("--set\ndiscriminator.workers=2\n"));
  EXPECT_THAT(asked, HasSubstr("--set\ngenerator.network.own.name=tiny\n"));
  EXPECT_THAT(asked, HasSubstr("--set\ndiscriminator.network.own.name=tiny\n"));
  // The recipe's own come last, so that they count.
  EXPECT_THAT(asked, EndsWith("--set\ngenerator.workers=2\n"));
  EXPECT_THAT(asked, Not(HasSubstr("--colocated")));
  EXPECT_EQ(ReadFile(asked_ + ".environment", 1 << 20).value_or(""),
            absl::StrCat(worker_, " ", programs_, "\n"));
  EXPECT_EQ(ReadFile(run_dir_ + "/recipe.textproto", 1 << 20).value_or(""),
            kText);
}

TEST_F(ScalingManagerTest, OneWorkerIsOneProcess) {
  Manager(Recipe::FromText(kText), 8, 1).Train({});
  EXPECT_THAT(Asked(), EndsWith("--colocated\n"));
  EXPECT_THAT(Asked(), Not(HasSubstr("network.own")));
}

TEST_F(ScalingManagerTest,
       ImagesForTheDiscriminatorAloneAreNoneOfTheGenerator) {
  Recipe recipe = Recipe::FromText(kText);
  recipe.Set("schedule.image_source", "FRESH");
  Manager(recipe).Train({});
  EXPECT_THAT(Asked(), HasSubstr("--set\ngenerator.batch_size=8\n"));
}

TEST_F(ScalingManagerTest, TheResultIsThatOfTheNewestCheckpoint) {
  MakeRun();
  CheckpointManifest manifest;
  manifest.set_step(5);
  manifest.set_run_epoch(1);
  CheckpointFile& file = *manifest.add_files();
  file.set_name("generator-0.safetensors");
  file.set_size(5);
  file.set_crc32c(TextCrc32c("state"));
  const std::string pending = PendingCheckpointPath(run_dir_, 5, 1);
  ASSERT_OK(CreateDirectories(pending));
  ASSERT_OK(WriteFile(pending + "/generator-0.safetensors", "state"));
  ASSERT_OK(CommitCheckpoint(run_dir_, manifest));
  std::string rounds;
  for (int round = 0; round < 5; ++round) {
    RoundMetrics metrics;
    metrics.set_run_epoch(1);
    metrics.set_round(round);
    metrics.set_workers(1);
    metrics.set_round_seconds(2);
    for (const Role role : {GENERATOR, DISCRIMINATOR}) {
      metrics.set_role(role);
      metrics.set_images(role == GENERATOR ? 25 : 99);
      absl::StrAppend(&rounds, ProtoJson(metrics), "\n");
    }
  }
  ASSERT_OK(WriteFile(run_dir_ + "/metrics.jsonl", rounds));
  const TrainResult result = Manager(Recipe::FromText(kText)).Train({});
  EXPECT_EQ(result.rounds, 5);
  EXPECT_EQ(result.images, 5 * 24);
  EXPECT_EQ(result.images_per_second, 12.5);
  EXPECT_EQ(result.checkpoint, CheckpointPath(run_dir_, 5));
}

TEST_F(ScalingManagerTest, ARunThatStopsSaysWhy) {
  PlayGandem("exit 75");
  const TrainResult stopped = Manager(Recipe::FromText(kText)).Train({});
  EXPECT_FALSE(stopped.is_complete);
  EXPECT_EQ(stopped.exit_reason, "stopped from outside");
  PlayGandem("trap 'exit 75' TERM; while true; do sleep 0.05; done");
  const TrainResult late =
      Manager(Recipe::FromText(kText)).Train({}, std::chrono::seconds(1));
  EXPECT_FALSE(late.is_complete);
  EXPECT_EQ(late.exit_reason, "stopped at its limit of 1s");
}

TEST_F(ScalingManagerTest, AFailureHasTheLastLines) {
  PlayGandem("echo 'gandem: no such data: photos'; exit 2");
  ScalingManager manager = Manager(Recipe::FromText(kText));
  EXPECT_THAT(ErrorOf([&] { manager.Train({}); }),
              ::testing::AllOf(HasSubstr("ended with exit code 2"),
                               HasSubstr("no such data: photos"),
                               HasSubstr("/logs/manager.log")));
}

TEST_F(ScalingManagerTest, TrainsOnce) {
  ScalingManager manager = Manager(Recipe::FromText(kText));
  manager.Train({});
  EXPECT_THAT(ErrorOf([&] { manager.Train({}); }),
              HasSubstr("has trained already; for more rounds make another"));
}

// A child process does not mind how many threads there are.
TEST_F(ScalingManagerTest, TrainsOnAnyThread) {
  ScalingManager manager = Manager(Recipe::FromText(kText));
  TrainResult result;
  std::thread([&] { result = manager.Train({}); }).join();
  EXPECT_TRUE(result.is_complete);
}

TEST_F(ScalingManagerTest, NamesWhatIsNoProgram) {
  ScalingManager manager = Manager(Recipe::FromText(kText));
  EXPECT_THAT(ErrorOf([&] { manager.Train({.worker = folder_ / "none"}); }),
              HasSubstr("/none' is no program that can be started"));
  EXPECT_THAT(ErrorOf([&] { manager.Train({.networks = "tiny"}); }),
              HasSubstr("set Gan.worker to the path"));
  EXPECT_EQ(ErrorOf([&] { manager.Train({}); }), "");  // none of it counts
}

TEST_F(ScalingManagerTest, SaysWhereItHasLookedForGandem) {
  const std::string empty = folder_ / "empty";
  EXPECT_THAT(ErrorOf([&] {
                ScalingManager(Recipe::FromText(kText), 8, 2, run_dir_, empty);
              }),
              ::testing::AllOf(HasSubstr("/empty/gandem'"),
                               HasSubstr("set GANDEM_PROGRAMS=PREFIX/bin")));
  setenv("GANDEM_PROGRAMS", programs_.c_str(), 1);
  EXPECT_EQ(ErrorOf([&] {
              ScalingManager(Recipe::FromText(kText), 8, 2, run_dir_, empty);
            }),
            "");
  unsetenv("GANDEM_PROGRAMS");
}

TEST_F(ScalingManagerTest, RefusesNumbersAndRecipesByName) {
  const Recipe recipe = Recipe::FromText(kText);
  EXPECT_THAT(ErrorOf([&] { Manager(recipe, 0); }),
              HasSubstr("batch_size 0 is not in [1, "));
  EXPECT_THAT(ErrorOf([&] { Manager(recipe, 8, 0); }),
              HasSubstr("num_workers 0 is not in [1, "));
  EXPECT_THAT(ErrorOf([&] { Manager(Recipe::FromText("nam: \"x\"")); }),
              HasSubstr("recipe:1:"));
  EXPECT_THAT(ErrorOf([&] { Recipe::FromFile(folder_ / "none.textproto"); }),
              HasSubstr("none.textproto"));
  Recipe wrong = recipe;
  wrong.Set("schedule.lagg", "1");
  EXPECT_THAT(ErrorOf([&] { Manager(wrong); }), HasSubstr("lagg"));
  ScalingManager manager = Manager(recipe);
  EXPECT_THAT(ErrorOf([&] { manager.Train({}, std::chrono::seconds(0)); }),
              HasSubstr("a limit of 0 seconds"));
}

TEST_F(ScalingManagerTest, AScoreHasItsInterval) {
  MakeRun();
  MetricCard card;
  Metric* const metric = card.add_metrics();
  metric->set_name("FD(x)");
  metric->set_value(10);
  metric->set_sd(0.5);
  metric->set_num_images(300);
  ASSERT_OK(WriteMetricCard(folder_ / "card", card));
  PlayGandem(
      absl::StrCat("echo FD; echo 'card: ", folder_ / "card.textproto", "'"));
  const Score score =
      Manager(Recipe::FromText(kText)).Evaluate("fid", {"--num", "300"});
  EXPECT_EQ(score.name, "FD(x)");
  EXPECT_EQ(score.value, 10);
  EXPECT_DOUBLE_EQ(score.low.value_or(0), 10 - 1.96 * 0.5);
  EXPECT_DOUBLE_EQ(score.high.value_or(0), 10 + 1.96 * 0.5);
  EXPECT_EQ(score.num_images, 300);
  EXPECT_EQ(Asked(), absl::StrCat("evaluate\n", run_dir_,
                                  "\n--metric\nfid\n--num\n300\n"));
}

TEST_F(ScalingManagerTest, AFailedEvaluationHasAMessage) {
  ScalingManager manager = Manager(Recipe::FromText(kText));
  EXPECT_THAT(ErrorOf([&] { manager.Evaluate("fid"); }),
              HasSubstr("holds no run: Train first"));
  MakeRun();
  PlayGandem("echo \"there is no metric 'fd'\"; exit 2");
  EXPECT_THAT(ErrorOf([&] { manager.Evaluate("fd"); }),
              HasSubstr("there is no metric 'fd'"));
  PlayGandem("exit 0");  // prints nothing
  EXPECT_NE(ErrorOf([&] { manager.Evaluate("fid"); }), "");
}

}  // namespace
}  // namespace gandem
