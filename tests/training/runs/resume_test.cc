// SPDX-License-Identifier: Apache-2.0
//
// Stop and resume equals the uninterrupted run bit for bit, at any cut
// (design.md section 10.2): older critics, optimizers, averages and data order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using gandem::testing::ExpectSame;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::TempDir;

constexpr int64_t kResumeRounds = 8;

// family, L, feedback, optimizer
using ResumeCell =
    std::tuple<std::string, int, ScheduleConfig::FeedbackMode, std::string>;

const std::map<std::string, std::string>& Optimizers() {
  static const auto& optimizers = *new std::map<std::string, std::string>{
      {"Adam", "adam { learning_rate: 1e-3 }"},
      {"Optimistic", "adam { learning_rate: 1e-3 } optimism: 1"},
      {"Lookahead",
       "adabelief {} lookahead { period: 3 } "
       "rate_schedule { shape: LINEAR warmup_rounds: 3 }"},
      {"Both", "sgd { momentum: 0.5 } optimism: 1 lookahead { period: 2 }"},
      {"Adafactor", "adafactor { beta1: 0.5 }"},
  };
  return optimizers;
}

class ResumeTest : public ::testing::TestWithParam<ResumeCell> {
 protected:
  RunConfig Config() {
    const auto& [family, lag, feedback, optimizer] = GetParam();
    RunConfig config = gandem::testing::SmallConfig(family, folder_.path());
    config.set_rounds(kResumeRounds);
    config.mutable_schedule()->set_lag(lag);
    config.mutable_schedule()->set_feedback(feedback);
    for (RoleConfig* role :
         {config.mutable_generator(), config.mutable_discriminator()}) {
      OptimizerConfig& chosen = *role->mutable_optimizer();
      EXPECT_OK(ParseTextProto(Optimizers().at(optimizer), optimizer, chosen));
    }
    return config;
  }

  TempDir folder_;
};

std::string ResumeCellName(const ::testing::TestParamInfo<ResumeCell>& info) {
  const auto& [family, lag, feedback, optimizer] = info.param;
  return absl::StrCat(family, "_L", lag, "_",
                      ScheduleConfig::FeedbackMode_Name(feedback), "_",
                      optimizer);
}

TEST_P(ResumeTest, AnyCutThenResumeEqualsTheWholeRun) {
  const RunConfig config = Config();
  ASSERT_OK_AND_ASSIGN(const SavedStates whole, RunPair(config, {}));
  for (int64_t cut = 0; cut <= 6; ++cut) {
    const std::string what = absl::StrCat("cut at round ", cut);
    ASSERT_OK_AND_ASSIGN(const SavedStates stopped,
                         RunPair(config, {.decoupled = true, .cut = cut}));
    ASSERT_EQ(stopped.rbegin()->first, cut + 1);
    ExpectSame(stopped.at(cut + 1), whole.at(cut + 1), what);

    const TempDir checkpoint;
    gandem::testing::WriteStates(stopped.at(cut + 1), checkpoint.path());
    ASSERT_OK_AND_ASSIGN(const SavedStates resumed,
                         RunPair(config, {.decoupled = true,
                                          .first_round = cut + 1,
                                          .resume_from = checkpoint.path()}));
    ExpectSame(resumed.at(kResumeRounds), whole.at(kResumeRounds), what);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grid, ResumeTest,
    ::testing::Combine(::testing::Values("mlp", "sndcgan"),
                       ::testing::Values(0, 1, 3),
                       ::testing::Values(ScheduleConfig::SNAPSHOT,
                                         ScheduleConfig::IMAGE_GRADIENT),
                       ::testing::Values("Adam")),
    ResumeCellName);
// A checkpoint stores the keys of noise inputs.
INSTANTIATE_TEST_SUITE_P(
    Styles, ResumeTest,
    ::testing::Combine(::testing::Values("stylegan2"), ::testing::Values(0, 1),
                       ::testing::Values(ScheduleConfig::SNAPSHOT,
                                         ScheduleConfig::IMAGE_GRADIENT),
                       ::testing::Values("Adam")),
    ResumeCellName);
// A request sent before a cut must also be answered before the cut.
INSTANTIATE_TEST_SUITE_P(
    Fused, ResumeTest,
    ::testing::Combine(::testing::Values("mlp", "sndcgan"),
                       ::testing::Values(1),
                       ::testing::Values(ScheduleConfig::FUSED),
                       ::testing::Values("Adam", "Optimistic")),
    ResumeCellName);
// These optimizers have more state than Adam.
INSTANTIATE_TEST_SUITE_P(
    Optimizers, ResumeTest,
    ::testing::Combine(::testing::Values("mlp"), ::testing::Values(2),
                       ::testing::Values(ScheduleConfig::SNAPSHOT),
                       ::testing::Values("Optimistic", "Lookahead", "Both",
                                         "Adafactor")),
    ResumeCellName);

// Earlier versions stored an optimizer's step in float32.
TEST(ResumeOldTest, ACheckpointWithAFloatStepIsResumed) {
  const TempDir folder;
  const RunConfig config = gandem::testing::SmallConfig("mlp", folder.path());
  ASSERT_OK_AND_ASSIGN(const SavedStates whole, RunPair(config, {}));
  auto states = whole.at(3);
  for (auto& [file, tensors] : states) {
    for (NamedTensor& tensor : tensors) {
      if (tensor.name != "optimizer.step") continue;
      const float steps = 3;
      tensor.dtype = DType::kF32;
      tensor.bytes =
          SharedBytes::Copy(std::as_bytes(std::span<const float>(&steps, 1)));
    }
  }
  const TempDir checkpoint;
  gandem::testing::WriteStates(states, checkpoint.path());
  ASSERT_OK_AND_ASSIGN(
      const SavedStates resumed,
      RunPair(config, {.first_round = 3, .resume_from = checkpoint.path()}));
  ExpectSame(resumed.at(config.rounds()), whole.at(config.rounds()), "float");
}

TEST(ResumeErrorsTest, ACheckpointOfASmallerLagLacksCritics) {
  const TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("mlp", folder.path());
  ASSERT_OK_AND_ASSIGN(const SavedStates states, RunPair(config, {}));
  const TempDir checkpoint;
  gandem::testing::WriteStates(states.at(3), checkpoint.path());
  config.mutable_schedule()->set_lag(3);
  EXPECT_THAT(
      RunPair(config, {.first_round = 3, .resume_from = checkpoint.path()}),
      gandem::testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                ::testing::HasSubstr("smaller schedule.lag")));
}

TEST(ResumeErrorsTest, ACheckpointOfAnotherNetworkIsRefused) {
  const TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("mlp", folder.path());
  ASSERT_OK_AND_ASSIGN(const SavedStates states, RunPair(config, {}));
  const TempDir checkpoint;
  gandem::testing::WriteStates(states.at(3), checkpoint.path());
  config.mutable_generator()->mutable_network()->mutable_mlp()->set_hidden(0,
                                                                           13);
  EXPECT_THAT(
      RunPair(config, {.first_round = 3, .resume_from = checkpoint.path()}),
      gandem::testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                ::testing::HasSubstr("the network wants")));
}

}  // namespace
}  // namespace gandem
