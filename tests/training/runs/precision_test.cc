// SPDX-License-Identifier: Apache-2.0
//
// Whole runs in 16-bit precision: decoupled equals colocated and both feedback
// modes agree bit for bit, overflows are skipped, a run resumes, and a recipe
// trains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"
#include "tests/training/runs/train_recipe.h"

namespace gandem {
namespace {

using gandem::testing::Differences;
using gandem::testing::ExpectSame;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::TempDir;

using Precision = RoleConfig::Precision;

// Precision and layout of one role.
struct Style {
  Precision precision;
  MemoryLayout layout;
};
struct PrecisionCell {
  std::string name;
  Style generator;
  Style discriminator;
  int lag;
};

class PrecisionTest : public ::testing::TestWithParam<PrecisionCell> {
 protected:
  RunConfig Config(ScheduleConfig::FeedbackMode feedback) {
    const PrecisionCell& cell = GetParam();
    RunConfig config = gandem::testing::SmallConfig("sndcgan", folder_.path());
    config.set_rounds(4);
    config.mutable_checkpoint()->set_every_rounds(0);
    config.mutable_schedule()->set_lag(cell.lag);
    config.mutable_schedule()->set_feedback(feedback);
    config.mutable_generator()->set_micro_batch(4);
    config.mutable_discriminator()->set_micro_batch(3);
    Apply(cell.generator, *config.mutable_generator());
    Apply(cell.discriminator, *config.mutable_discriminator());
    return config;
  }
  static void Apply(const Style& style, RoleConfig& role) {
    role.set_precision(style.precision);
    role.set_layout(style.layout);
  }

  TempDir folder_;
};

TEST_P(PrecisionTest, DecoupledEqualsColocatedInBothFeedbackModes) {
  SavedStates by_mode[2];
  for (const auto feedback :
       {ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT}) {
    const RunConfig config = Config(feedback);
    ASSERT_OK_AND_ASSIGN(by_mode[feedback], RunPair(config, {}));
    ASSERT_OK_AND_ASSIGN(const SavedStates decoupled,
                         RunPair(config, {.decoupled = true, .delay_seed = 7}));
    ExpectSame(by_mode[feedback], decoupled);
  }
  ExpectSame(by_mode[0], by_mode[1]);
}

INSTANTIATE_TEST_SUITE_P(
    Grid, PrecisionTest,
    ::testing::Values(
        PrecisionCell{"Bfloat16",
                      {RoleConfig::BFLOAT16, NCHW},
                      {RoleConfig::BFLOAT16, NCHW},
                      0},
        PrecisionCell{"Bfloat16Lag2",
                      {RoleConfig::BFLOAT16, CHANNELS_LAST},
                      {RoleConfig::BFLOAT16, CHANNELS_LAST},
                      2},
        PrecisionCell{"Float16Lag1",
                      {RoleConfig::FLOAT16, NCHW},
                      {RoleConfig::FLOAT16, NCHW},
                      1},
        // The critic has the discriminator's precision in both roles.
        PrecisionCell{"EachItsOwn",
                      {RoleConfig::FLOAT32, CHANNELS_LAST},
                      {RoleConfig::BFLOAT16, NCHW},
                      1},
        PrecisionCell{"TheOtherWay",
                      {RoleConfig::FLOAT16, NCHW},
                      {RoleConfig::FLOAT32, CHANNELS_LAST},
                      2}),
    [](const auto& info) { return info.param.name; });

RunConfig InFloat16(const TempDir& folder, double scale) {
  RunConfig config = gandem::testing::SmallConfig("sndcgan", folder.path());
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->set_precision(RoleConfig::FLOAT16);
    role->mutable_loss_scale()->set_initial(scale);
  }
  return config;
}

const NamedTensor* Find(const std::vector<NamedTensor>& tensors,
                        const std::string& name) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

TEST(OverflowTest, AnOverflowIsSkippedAndHalvesTheScale) {
  const TempDir folder;
  const RunConfig config = InFloat16(folder, 0x1p40);
  std::map<Role, std::vector<RoundMetrics>> metrics;
  ASSERT_OK_AND_ASSIGN(
      const SavedStates states,
      RunPair(config, {.report = [&](const RoundMetrics& round) {
                metrics[round.role()].push_back(round);
              }}));
  for (const auto& [role, rounds] : metrics) {
    ASSERT_EQ(rounds.size(), 6u);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(rounds[i].updates_skipped(), i + 1) << Role_Name(role);
      EXPECT_EQ(rounds[i].loss_scale(), std::ldexp(1.0, 39 - i));
      EXPECT_EQ(rounds[i].gradient_norm(), 0);
      EXPECT_TRUE(std::isfinite(rounds[i].loss()));
    }
  }
  // No weight has changed, and the optimizer has counted no step.
  for (const char* file :
       {"generator-0.safetensors", "discriminator-0.safetensors"}) {
    const auto& first = states.at(1).at(file);
    const auto& last = states.at(6).at(file);
    for (const char* name :
         {"model.linear.weight", "model.main.0.weight", "optimizer.step"}) {
      ASSERT_NE(Find(last, name), nullptr) << name;
      const NamedTensor& a = *Find(first, name);
      const NamedTensor& b = *Find(last, name);
      EXPECT_EQ(std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()), 0)
          << file << " " << name;
    }
    EXPECT_THAT(Differences(first, last), ::testing::Contains("scaler.scale"));
  }
}

TEST(OverflowTest, AScaleThatFitsSkipsNothing) {
  const TempDir folder;
  int64_t skipped = -1;
  ASSERT_OK(RunPair(InFloat16(folder, 1024),
                    {.report =
                         [&](const RoundMetrics& round) {
                           skipped = std::max(skipped, round.updates_skipped());
                         }})
                .status());
  EXPECT_EQ(skipped, 0);
}

TEST(Float16ResumeTest, AResumedRunHasTheScaleOfTheCheckpoint) {
  const TempDir folder;
  const RunConfig config = InFloat16(folder, 0x1p40);
  ASSERT_OK_AND_ASSIGN(const SavedStates whole, RunPair(config, {}));
  const TempDir checkpoint;
  gandem::testing::WriteStates(whole.at(3), checkpoint.path());
  ASSERT_OK_AND_ASSIGN(const SavedStates resumed,
                       RunPair(config, {.decoupled = true,
                                        .first_round = 3,
                                        .resume_from = checkpoint.path()}));
  ExpectSame(resumed.at(6), whole.at(6), "resumed");
}

TEST(RecipeTest, TwentyRoundsStayNearFloat32) {
  const gandem::testing::RecipeLosses exact =
      gandem::testing::TrainRecipe({.rounds = 20, .last = 20});
  for (const Precision precision :
       {RoleConfig::BFLOAT16, RoleConfig::FLOAT16}) {
    const gandem::testing::RecipeLosses rounded = gandem::testing::TrainRecipe(
        {.precision = precision, .rounds = 20, .last = 20});
    EXPECT_NEAR(rounded.generator, exact.generator, 0.05)
        << RoleConfig::Precision_Name(precision);
    EXPECT_NEAR(rounded.discriminator, exact.discriminator, 0.05)
        << RoleConfig::Precision_Name(precision);
  }
}

}  // namespace
}  // namespace gandem
