// SPDX-License-Identifier: Apache-2.0
#include "training/compute/choose_compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/checkpoint/safetensors.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"
#include "training/plan/run_plan.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::StatusIs;
using gandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the network plan of a role of `config`.
NetworkPlan ChosenPlan(const RunConfig& config, Role role) {
  return MakeRunPlan(EffectiveRunConfig::OfValid(config)).role(role).network;
}

std::vector<std::string> ChooseComputeNames(const RunConfig& config,
                                            Role role = DISCRIMINATOR) {
  std::vector<std::string> names;
  for (const ComputeChoice& choice :
       ComputeCandidates(ChosenPlan(config, role))) {
    names.push_back(ToString(choice));
  }
  return names;
}

TEST(ComputeCandidatesTest, CandidatesVaryTheAutoFields) {
  RunConfig config;
  RoleConfig& role = *config.mutable_discriminator();
  EXPECT_THAT(ChooseComputeNames(config), ElementsAre("FLOAT32 NCHW"));
  role.set_layout(AUTO);
  EXPECT_THAT(ChooseComputeNames(config),
              ElementsAre("FLOAT32 NCHW", "FLOAT32 CHANNELS_LAST"));
  role.set_precision(RoleConfig::AUTO);
  EXPECT_EQ(ChooseComputeNames(config).size(), 6u);
  role.set_layout(CHANNELS_LAST);
  EXPECT_THAT(ChooseComputeNames(config),
              ElementsAre("FLOAT32 CHANNELS_LAST", "BFLOAT16 CHANNELS_LAST",
                          "FLOAT16 CHANNELS_LAST"));
  role.set_device("cuda:0");
  EXPECT_THAT(ChooseComputeNames(config),
              ::testing::Contains("TF32 CHANNELS_LAST"));
}

// Validation refuses FLOAT16 with a gradient penalty.
TEST(ComputeCandidatesTest, AutoNeverChoosesFloat16WithAGradientPenalty) {
  RunConfig config;
  config.mutable_penalties()->set_r1(1);
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    role->set_precision(RoleConfig::AUTO);
  }
  EXPECT_THAT(ChooseComputeNames(config),
              ElementsAre("FLOAT32 NCHW", "BFLOAT16 NCHW"));
  EXPECT_THAT(ChooseComputeNames(config, GENERATOR),
              ElementsAre("FLOAT32 NCHW", "BFLOAT16 NCHW", "FLOAT16 NCHW"));
}

ComputeChoice Choice(RoleConfig::Precision precision, MemoryLayout layout) {
  ComputeChoice choice;
  choice.set_precision(precision);
  choice.set_layout(layout);
  return choice;
}

class ChooseComputeTest : public ::testing::Test {
 protected:
  ChooseComputeTest()
      : config_(gandem::testing::SmallConfig("mlp", data_.path())) {
    for (RoleConfig* role :
         {config_.mutable_generator(), config_.mutable_discriminator()}) {
      role->set_precision(RoleConfig::AUTO);
      role->set_layout(AUTO);
    }
  }

  void WriteCheckpoint(const std::string& file,
                       const std::vector<int64_t>& choice) {
    const std::vector<NamedTensor> tensors = {
        {.name = "compute.choice",
         .dtype = DType::kI64,
         .shape = {static_cast<int64_t>(choice.size())},
         .bytes = SharedBytes::Copy(std::as_bytes(std::span(choice)))}};
    gandem::testing::WriteStates({{file, tensors}}, checkpoint_.path());
  }

  TempDir data_;
  TempDir checkpoint_;
  RunConfig config_;
};

TEST_F(ChooseComputeTest, WithoutAutoTheConfigIsUsed) {
  RoleConfig& role = *config_.mutable_generator();
  role.set_precision(RoleConfig::FLOAT64);
  role.set_layout(CHANNELS_LAST);
  ASSERT_OK_AND_ASSIGN(const ComputeChoice choice,
                       ChooseCompute(ChosenPlan(config_, GENERATOR), ""));
  EXPECT_EQ(ToString(choice), "FLOAT64 CHANNELS_LAST");
  EXPECT_TRUE(ChoiceState(ChosenPlan(config_, GENERATOR), choice).empty());
}

TEST_F(ChooseComputeTest, ANewRunGetsOneOfTheCandidates) {
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    ASSERT_OK_AND_ASSIGN(const ComputeChoice choice,
                         ChooseCompute(ChosenPlan(config_, role), ""));
    EXPECT_THAT(ChooseComputeNames(config_, role),
                ::testing::Contains(ToString(choice)));
  }
}

TEST_F(ChooseComputeTest, TheMeasuringTimeIsLimited) {
  ASSERT_OK_AND_ASSIGN(const ComputeChoice choice,
                       FastestCompute(ChosenPlan(config_, GENERATOR),
                                      {.limit = absl::ZeroDuration()}));
  EXPECT_EQ(ToString(choice), "FLOAT32 NCHW");
}

// A resume uses the checkpoint's choice without a measurement.
TEST_F(ChooseComputeTest, AResumeKeepsTheChoice) {
  for (const auto precision : {RoleConfig::FLOAT32, RoleConfig::BFLOAT16,
                               RoleConfig::FLOAT16, RoleConfig::TF32}) {
    for (const auto layout : {NCHW, CHANNELS_LAST}) {
      WriteCheckpoint("discriminator-0.safetensors", {precision, layout});
      ASSERT_OK_AND_ASSIGN(const ComputeChoice choice,
                           ChooseCompute(ChosenPlan(config_, DISCRIMINATOR),
                                         checkpoint_.path()));
      EXPECT_EQ(choice.precision(), precision);
      EXPECT_EQ(choice.layout(), layout);
    }
  }
}

// An earlier choice makes a measurement unnecessary, and a checkpoint overrides
// the earlier choice.
TEST_F(ChooseComputeTest, AnEarlierChoiceIsKept) {
  const NetworkPlan plan = ChosenPlan(config_, DISCRIMINATOR);
  const ComputeChoice before = Choice(RoleConfig::TF32, CHANNELS_LAST);
  ASSERT_OK_AND_ASSIGN(ComputeChoice choice, ChooseCompute(plan, "", before));
  EXPECT_EQ(ToString(choice), "TF32 CHANNELS_LAST");
  WriteCheckpoint("discriminator-0.safetensors", {RoleConfig::BFLOAT16, NCHW});
  ASSERT_OK_AND_ASSIGN(choice, ChooseCompute(plan, checkpoint_.path(), before));
  EXPECT_EQ(ToString(choice), "BFLOAT16 NCHW");
}

TEST_F(ChooseComputeTest, AMeasurementIsValidForTheSameConfigOnly) {
  const NetworkPlan plan = ChosenPlan(config_, GENERATOR);
  const std::string same = MeasuredFor(plan);
  EXPECT_EQ(same.size(), 64u);
  EXPECT_EQ(MeasuredFor(plan), same);
  NetworkPlan other = plan;
  other.seed = 99;  // the seed does not matter
  EXPECT_EQ(MeasuredFor(other), same);
  other.batch_size *= 2;
  EXPECT_NE(MeasuredFor(other), same);
  other = plan;
  other.precision = RoleConfig::FLOAT32;
  EXPECT_NE(MeasuredFor(other), same);
  other = plan;
  other.threads += 1;
  EXPECT_NE(MeasuredFor(other), same);
  EXPECT_NE(MeasuredFor(ChosenPlan(config_, DISCRIMINATOR)), same);
}

TEST_F(ChooseComputeTest, ADamagedChoiceIsRefused) {
  for (const std::vector<int64_t>& choice : std::vector<std::vector<int64_t>>{
           {99, 0}, {0, 99}, {RoleConfig::AUTO, 0}, {0, AUTO}}) {
    WriteCheckpoint("generator-0.safetensors", choice);
    EXPECT_THAT(
        ChooseCompute(ChosenPlan(config_, GENERATOR), checkpoint_.path()),
        StatusIs(absl::StatusCode::kDataLoss,
                 HasSubstr("is no precision and layout")));
  }
}

TEST_F(ChooseComputeTest, RolesSaveAndUseTheChoice) {
  std::map<std::string, std::vector<NamedTensor>> by_choice[2];
  const ComputeChoice choices[] = {Choice(RoleConfig::FLOAT32, NCHW),
                                   Choice(RoleConfig::BFLOAT16, NCHW)};
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(
        const SavedStates states,
        RunPair(config_, {.generator_choice = choices[i],
                          .discriminator_choice = choices[i]}));
    by_choice[i] = states.at(config_.rounds());
    const TempDir checkpoint;
    gandem::testing::WriteStates(by_choice[i], checkpoint.path());
    for (const Role role : {GENERATOR, DISCRIMINATOR}) {
      ASSERT_OK_AND_ASSIGN(
          const ComputeChoice kept,
          ChooseCompute(ChosenPlan(config_, role), checkpoint.path()));
      EXPECT_EQ(ToString(kept), ToString(choices[i]));
    }
  }
  EXPECT_THAT(
      gandem::testing::Differences(by_choice[0].at("generator-0.safetensors"),
                                   by_choice[1].at("generator-0.safetensors")),
      ::testing::Contains("model.main.0.weight"));
}

}  // namespace
}  // namespace gandem
