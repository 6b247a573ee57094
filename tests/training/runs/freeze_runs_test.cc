// SPDX-License-Identifier: Apache-2.0
//
// Whole runs with frozen parameters and groups with their own learning rates
// (docs/optimizers.md): frozen parameters keep their bits and have no state, in
// all feedback modes, colocated and decoupled, in fleets and after a resume.
// oracle_test.cc compares numbers with PyTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/fleet_runs.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using gandem::testing::Differences;
using gandem::testing::ExpectClose;
using gandem::testing::ExpectRanksAgree;
using gandem::testing::ExpectSame;
using gandem::testing::Final;
using gandem::testing::Float64;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::SetWorkers;
using gandem::testing::StatusIs;
using gandem::testing::TempDir;
using gandem::testing::Train;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Freezes the first layer of both networks' main part; biases are slow.
constexpr char kFrozen[] =
    "generator { freeze: 'main.0.*' optimizer { optimism: 0.5 "
    "  group { parameters: '*.bias' learning_rate_factor: 0.25 } } } "
    "discriminator { freeze: 'main.0.*' optimizer { "
    "  group { parameters: '*.bias' learning_rate_factor: 0.25 } } }";

void AddToFrozen(const std::string& text, RunConfig& config) {
  RunConfig more;
  ASSERT_OK(ParseTextProto(text, "more", more));
  config.MergeFrom(more);
  ASSERT_OK(ValidateRunConfig(config));
}

RunConfig FrozenConfig(const std::string& family, const TempDir& folder) {
  RunConfig config = gandem::testing::SmallConfig(family, folder.path());
  config.mutable_schedule()->set_lag(1);
  AddToFrozen(kFrozen, config);
  return config;
}

// Returns the tensors whose names begin with `prefix`, without the prefix.
std::vector<NamedTensor> WithPrefix(const std::vector<NamedTensor>& tensors,
                                    const std::string& prefix) {
  std::vector<NamedTensor> found;
  for (const NamedTensor& tensor : tensors) {
    if (!absl::StartsWith(tensor.name, prefix)) continue;
    found.push_back(tensor);
    found.back().name = tensor.name.substr(prefix.size());
  }
  return found;
}

// Expects frozen parameters in the first layer, moving ones in the second.
void ExpectFrozen(const std::vector<NamedTensor>& first,
                  const std::vector<NamedTensor>& last) {
  const auto differ = [&](const std::string& name) {
    const std::string prefix = "model." + name;
    EXPECT_FALSE(WithPrefix(last, prefix).empty()) << prefix;
    return Differences(WithPrefix(first, prefix), WithPrefix(last, prefix));
  };
  EXPECT_THAT(differ("main.0.weight"), IsEmpty());
  EXPECT_THAT(differ("main.0.bias"), IsEmpty());
  EXPECT_THAT(differ("main.2."), Not(IsEmpty()));
  for (const NamedTensor& tensor : last) {
    if (!absl::StartsWith(tensor.name, "optimizer.")) continue;
    EXPECT_THAT(tensor.name, Not(HasSubstr(".main.0.")));
  }
}

class FreezeRunsTest
    : public ::testing::TestWithParam<ScheduleConfig::FeedbackMode> {};

TEST_P(FreezeRunsTest, DecoupledEqualsColocatedAndResumed) {
  const TempDir folder;
  RunConfig config = FrozenConfig("mlp", folder);
  config.mutable_schedule()->set_feedback(GetParam());
  AddToFrozen("penalties { r1: 1 }", config);
  ASSERT_OK_AND_ASSIGN(const SavedStates whole, RunPair(config, {}));
  for (const uint64_t seed : {0, 7}) {
    ASSERT_OK_AND_ASSIGN(
        const SavedStates decoupled,
        RunPair(config, {.decoupled = true, .delay_seed = seed}));
    ExpectSame(whole, decoupled);
  }
  for (const char* const file :
       {"generator-0.safetensors", "discriminator-0.safetensors"}) {
    SCOPED_TRACE(file);
    ExpectFrozen(whole.at(1).at(file), whole.at(config.rounds()).at(file));
  }
  const auto& generator = Final(whole, "generator", 0);
  EXPECT_THAT(Differences(WithPrefix(generator, "ema.main.0."),
                          WithPrefix(generator, "model.main.0.")),
              IsEmpty());

  const TempDir checkpoint;
  gandem::testing::WriteStates(whole.at(2), checkpoint.path());
  ASSERT_OK_AND_ASSIGN(const SavedStates resumed,
                       RunPair(config, {.decoupled = true,
                                        .first_round = 2,
                                        .resume_from = checkpoint.path()}));
  ExpectSame(resumed.at(config.rounds()), whole.at(config.rounds()), "resumed");
}

TEST_P(FreezeRunsTest, AFleetEqualsOneWorkerPerRole) {
  const TempDir folder;
  RunConfig config = Float64(FrozenConfig("mlp", folder));
  config.mutable_schedule()->set_feedback(GetParam());
  config.mutable_generator()->set_clip_gradient_norm(0.05);
  const SavedStates one = Train(config);
  SetWorkers(2, 2, config);
  const SavedStates fleet = Train(config);
  ExpectClose(fleet, one, 1e-8);
  ExpectRanksAgree(fleet, config);
  for (const std::string role : {"generator", "discriminator"}) {
    for (const char* const name :
         {"model.main.0.weight", "model.main.0.bias"}) {
      EXPECT_THAT(Differences(WithPrefix(Final(fleet, role, 1), name),
                              WithPrefix(Final(one, role, 0), name)),
                  IsEmpty())
          << role << " " << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Feedback, FreezeRunsTest,
    ::testing::Values(ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT,
                      ScheduleConfig::FUSED),
    [](const ::testing::TestParamInfo<ScheduleConfig::FeedbackMode>& info) {
      return ScheduleConfig::FeedbackMode_Name(info.param);
    });

// Weighted means of equal numbers would round them.
TEST(FreezeFleetTest, AveragesDoNotChangeFrozenParameters) {
  const TempDir folder;
  RunConfig config = FrozenConfig("mlp", folder);
  ASSERT_OK_AND_ASSIGN(const SavedStates one, RunPair(config, {}));
  AddToFrozen(
      "generator { batch_size: 7 workers: 3 sync { mode: AVERAGE_STATE "
      "  divergence_check_interval: 1 } } "
      "discriminator { batch_size: 7 workers: 3 sync { mode: AVERAGE_STATE "
      "  divergence_check_interval: 1 } } "
      "schedule { feedback: IMAGE_GRADIENT }",
      config);
  const SavedStates fleet = Train(config);
  for (const std::string role : {"generator", "discriminator"}) {
    const std::string file = absl::StrCat(role, "-0.safetensors");
    ExpectFrozen(one.at(1).at(file), fleet.at(config.rounds()).at(file));
  }
}

// Covers spectral norm of frozen layers and recomputed blocks.
TEST(FreezeFusedTest, OneBackwardPassEqualsTwo) {
  for (const std::string network :
       {"",
        "data { image_size: 32 } discriminator { recompute_blocks: true "
        "freeze: 'blocks.0.*' network { sngan { width: 4 } } }"}) {
    SCOPED_TRACE(network);
    const TempDir folder;
    RunConfig config =
        Float64(gandem::testing::SmallConfig("sndcgan", folder.path()));
    for (RoleConfig* role :
         {config.mutable_generator(), config.mutable_discriminator()}) {
      // A bias before batch norm has a gradient of rounding errors only.
      role->mutable_optimizer()->mutable_adam()->set_eps(1e-5);
    }
    AddToFrozen(network.empty()
                    ? "discriminator { freeze: ['main.0.*', 'main.4.weight', "
                      "'main.6.bias'] }"
                    : network,
                config);
    AddToFrozen("schedule { feedback: FUSED lag: 1 fused_backward: ONE_PASS }",
                config);
    ASSERT_OK_AND_ASSIGN(const SavedStates one, RunPair(config, {}));
    config.mutable_schedule()->set_fused_backward(ScheduleConfig::TWO_PASSES);
    ASSERT_OK_AND_ASSIGN(const SavedStates two, RunPair(config, {}));
    ExpectClose(one, two, 1e-10);
  }
}

TEST(FreezeErrorsTest, APatternWithoutAMatchEndsTheRunBeforeItStarts) {
  const TempDir folder;
  RunConfig config = FrozenConfig("mlp", folder);
  config.mutable_generator()->add_freeze("mian.2.*");
  EXPECT_THAT(RunPair(config, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("generator.freeze[1] \"mian.2.*\""),
                             HasSubstr("main.2.weight"))));
  config = FrozenConfig("mlp", folder);
  config.mutable_discriminator()->add_freeze("*");
  EXPECT_THAT(RunPair(config, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("discriminator.freeze leaves none")));
}

}  // namespace
}  // namespace gandem
