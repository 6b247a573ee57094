// SPDX-License-Identifier: Apache-2.0
//
// Whole runs with FUSED feedback (design.md sections 4 and 10.1): decoupled
// equals colocated bit for bit, whatever the delays and the micro-batches; if a
// pass does not change the discriminator's state, the run equals IMAGE_GRADIENT
// at lag 1; one and two backward passes give the same run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/fleet_runs.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using gandem::testing::Distance;
using gandem::testing::ExpectClose;
using gandem::testing::ExpectSame;
using gandem::testing::Final;
using gandem::testing::Float64;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::TempDir;

RunConfig FusedConfig(const std::string& family, int steps,
                      const TempDir& folder) {
  RunConfig config = gandem::testing::SmallConfig(family, folder.path());
  config.set_rounds(5);
  config.mutable_checkpoint()->set_every_rounds(0);
  config.mutable_schedule()->set_feedback(ScheduleConfig::FUSED);
  config.mutable_schedule()->set_discriminator_steps_per_round(steps);
  config.mutable_generator()->set_batch_size(4 * steps);
  config.mutable_discriminator()->set_batch_size(4);
  return config;
}

void AddToFused(const std::string& text, RunConfig& config) {
  RunConfig more;
  ASSERT_OK(ParseTextProto(text, "more", more));
  config.MergeFrom(more);
  ASSERT_OK(ValidateRunConfig(config));
}

// Returns the last state of a colocated run.
SavedStates Colocated(const RunConfig& config) {
  auto states = RunPair(config, {});
  EXPECT_OK(states.status());
  return *std::move(states);
}

void ExpectAllWaysAgree(const RunConfig& config) {
  ASSERT_OK(ValidateRunConfig(config));
  const SavedStates colocated = Colocated(config);
  ASSERT_EQ(colocated.at(config.rounds()).size(), 2u);
  for (const uint64_t seed : {0, 7, 20}) {
    ASSERT_OK_AND_ASSIGN(
        const SavedStates decoupled,
        RunPair(config, {.decoupled = true, .delay_seed = seed}));
    ExpectSame(colocated, decoupled);
  }
}

// family, R, images per micro-batch of the generator and the discriminator
using FusedCell = std::tuple<std::string, int, std::pair<int, int>>;

std::string FusedCellName(const ::testing::TestParamInfo<FusedCell>& info) {
  const auto& [family, steps, micro] = info.param;
  return absl::StrCat(family, "_R", steps, "_micro", micro.first, "_",
                      micro.second);
}

class FusedEqualityTest : public ::testing::TestWithParam<FusedCell> {};

TEST_P(FusedEqualityTest, DecoupledEqualsColocated) {
  const auto& [family, steps, micro] = GetParam();
  const TempDir folder;
  RunConfig config = FusedConfig(family, steps, folder);
  config.mutable_generator()->set_micro_batch(micro.first);
  config.mutable_discriminator()->set_micro_batch(micro.second);
  ExpectAllWaysAgree(config);
}

// Requests of a slice, of parts of one and of parts of two; passes likewise.
INSTANTIATE_TEST_SUITE_P(
    Grid, FusedEqualityTest,
    ::testing::Combine(
        ::testing::Values("mlp", "dcgan", "sndcgan", "mlp_classes"),
        ::testing::Values(1, 2),
        ::testing::Values(std::pair(0, 0), std::pair(2, 2), std::pair(3, 2),
                          std::pair(2, 0), std::pair(0, 3))),
    FusedCellName);

INSTANTIATE_TEST_SUITE_P(
    Styles, FusedEqualityTest,
    ::testing::Combine(::testing::Values("stylegan2"), ::testing::Values(1),
                       ::testing::Values(std::pair(0, 0), std::pair(3, 2))),
    FusedCellName);

struct FusedObjective {
  std::string name;
  std::string family;
  std::string text;  // of a RunConfig
};

class FusedObjectiveTest : public ::testing::TestWithParam<FusedObjective> {};

TEST_P(FusedObjectiveTest, DecoupledEqualsColocatedAndResumed) {
  const TempDir folder;
  RunConfig config = FusedConfig(GetParam().family, 1, folder);
  config.mutable_checkpoint()->set_every_rounds(2);
  AddToFused(GetParam().text, config);
  ExpectAllWaysAgree(config);
  const SavedStates whole = Colocated(config);
  const TempDir checkpoint;
  gandem::testing::WriteStates(whole.at(2), checkpoint.path());
  ASSERT_OK_AND_ASSIGN(const SavedStates resumed,
                       RunPair(config, {.decoupled = true,
                                        .first_round = 2,
                                        .resume_from = checkpoint.path()}));
  ExpectSame(resumed.at(config.rounds()), whole.at(config.rounds()), "resumed");
}

INSTANTIATE_TEST_SUITE_P(
    Objectives, FusedObjectiveTest,
    ::testing::Values(
        FusedObjective{"hinge", "sndcgan", "loss: HINGE"},
        FusedObjective{"least_squares", "mlp", "loss: LEAST_SQUARES"},
        FusedObjective{"saturating", "mlp", "loss: SATURATING"},
        FusedObjective{"wgan_gp", "mlp",
                       "loss: WASSERSTEIN penalties { gradient_penalty: 10 }"},
        FusedObjective{"relativistic_r1_r2", "mlp",
                       "loss: RELATIVISTIC_PAIRED penalties { r1: 1 r2: 1 }"},
        FusedObjective{"relativistic_average", "dcgan",
                       "loss: RELATIVISTIC_AVERAGE"},
        FusedObjective{"everything_of_its_own", "mlp_classes",
                       "penalties { dragan: 10 gradient_every_steps: 2 "
                       "lecam: 0.3 lecam_start_step: 2 consistency_real: 10 "
                       "consistency_generated: 10 }"},
        FusedObjective{"augmented", "sndcgan",
                       "augmentation { color: true translation: 0.125 "
                       "cutout: 0.5 } generator { layout: CHANNELS_LAST } "
                       "discriminator { layout: CHANNELS_LAST }"},
        FusedObjective{"ada", "sndcgan",
                       "augmentation { ada { target: 0.2 p: 0.5 interval: 2 "
                       "images_to_full: 100 } }"},
        FusedObjective{"encoded", "mlp",
                       "exchange { image_encoding: UINT8 "
                       "feedback_encoding: BFLOAT16 }"},
        FusedObjective{"float16", "mlp",
                       "generator { precision: FLOAT16 } "
                       "discriminator { precision: FLOAT16 }"},
        FusedObjective{
            "recomputed_blocks", "mlp",
            "data { image_size: 32 } "
            "generator { network { sngan { width: 4 noise_dim: 6 } } } "
            "discriminator { recompute_blocks: true "
            "network { sngan { width: 4 } } }"},
        FusedObjective{"styles", "stylegan2",
                       "penalties { r1: 1 gradient_every_steps: 2 }"},
        FusedObjective{"translation", "pix2pix", "paired_loss { l1: 100 }"},
        FusedObjective{
            "contragan", "mlp_classes",
            "data { image_size: 32 } loss: HINGE "
            "class_loss { family: CONTRASTIVE } "
            "generator { network { biggan { width: 4 attention: false } } } "
            "discriminator { network { biggan { width: 4 attention: false "
            "head: CONTRASTIVE } } }"}),
    [](const ::testing::TestParamInfo<FusedObjective>& info) {
      return info.param.name;
    });

// Without batch norm, spectral norm and dropout, a training pass equals a
// frozen pass. The judged real images are those of the step.
TEST(FusedRunsTest, WithoutBuffersItIsImageGradientAtLagOne) {
  const TempDir folder;
  for (const std::string text :
       {"", "loss: HINGE", "loss: WASSERSTEIN penalties { r1: 1 }",
        "loss: RELATIVISTIC_PAIRED penalties { r1: 0.5 r2: 0.5 }",
        "loss: LEAST_SQUARES penalties { gradient_penalty: 1 }",
        "generator { micro_batch: 3 } discriminator { micro_batch: 2 }",
        "penalties { lecam: 1 lecam_start_step: 1 }"}) {
    SCOPED_TRACE(text);
    RunConfig config =
        Float64(gandem::testing::SmallConfig("mlp", folder.path()));
    config.mutable_schedule()->set_feedback(ScheduleConfig::IMAGE_GRADIENT);
    AddToFused(text, config);
    const SavedStates judged = Colocated(config);
    config.mutable_schedule()->set_feedback(ScheduleConfig::FUSED);
    ExpectClose(Colocated(config), judged, 1e-10);
  }
}

// Batch statistics are of the same images, recorded in another order.
TEST(FusedRunsTest, WithBatchNormTheGeneratorIsTheSame) {
  const TempDir folder;
  RunConfig config =
      Float64(gandem::testing::SmallConfig("dcgan", folder.path()));
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    // A bias before batch norm has a gradient of rounding errors only.
    role->mutable_optimizer()->mutable_adam()->set_eps(1e-5);
  }
  config.mutable_schedule()->set_feedback(ScheduleConfig::IMAGE_GRADIENT);
  const SavedStates judged = Colocated(config);
  config.mutable_schedule()->set_feedback(ScheduleConfig::FUSED);
  EXPECT_LT(Distance(Final(Colocated(config), "generator", 0),
                     Final(judged, "generator", 0)),
            1e-8);
}

// With spectral norm the runs differ: the power iteration comes before the
// images are judged.
TEST(FusedRunsTest, WithSpectralNormItIsNot) {
  const TempDir folder;
  RunConfig config =
      Float64(gandem::testing::SmallConfig("sndcgan", folder.path()));
  config.mutable_schedule()->set_feedback(ScheduleConfig::IMAGE_GRADIENT);
  const SavedStates judged = Colocated(config);
  config.mutable_schedule()->set_feedback(ScheduleConfig::FUSED);
  EXPECT_GT(Distance(Final(Colocated(config), "generator", 0),
                     Final(judged, "generator", 0)),
            1e-6);
}

// The test compares runs after several updates by Adam.
// tests/training/objective/fused_test.cc compares a single pass.
TEST(FusedRunsTest, OneBackwardPassEqualsTwo) {
  for (const std::string family : {"mlp", "sndcgan", "mlp_classes"}) {
    for (const std::string text :
         {"loss: NON_SATURATING", "loss: HINGE", "loss: LEAST_SQUARES",
          "loss: WASSERSTEIN penalties { gradient_penalty: 1 r1: 1 }"}) {
      SCOPED_TRACE(family + " " + text);
      const TempDir folder;
      RunConfig config = Float64(FusedConfig(family, 2, folder));
      config.mutable_generator()->set_batch_size(14);
      for (RoleConfig* role :
           {config.mutable_generator(), config.mutable_discriminator()}) {
        // A bias before batch norm has a gradient of rounding errors only.
        role->mutable_optimizer()->mutable_adam()->set_eps(1e-5);
      }
      AddToFused(text, config);
      EXPECT_EQ(EffectiveConfig(config).schedule().fused_backward(),
                ScheduleConfig::ONE_PASS);
      const SavedStates one = Colocated(config);
      config.mutable_schedule()->set_fused_backward(ScheduleConfig::TWO_PASSES);
      ExpectClose(one, Colocated(config), 1e-10);
    }
  }
}

// The reported lag is that of phi_t, the version that the generator waits for.
TEST(FusedRunsTest, ReportsALagOfOne) {
  const TempDir folder;
  const RunConfig config = FusedConfig("mlp", 2, folder);
  int64_t rounds = 0;
  ASSERT_OK(RunPair(config, {.report = [&](const RoundMetrics& metrics) {
                      if (metrics.role() != GENERATOR) return;
                      ++rounds;
                      EXPECT_EQ(metrics.lag(), 1);
                    }}));
  EXPECT_EQ(rounds, config.rounds());
}

}  // namespace
}  // namespace gandem
