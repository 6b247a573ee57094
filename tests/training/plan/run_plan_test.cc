// SPDX-License-Identifier: Apache-2.0
#include "training/plan/run_plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "common/config/run_config.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

RunConfig PlannedConfig() {
  RunConfig config;
  EXPECT_OK(ParseTextProto(R"(
      rounds: 70
      seed: 5
      data { image_size: 32 num_classes: 3 }
      schedule { lag: 2 discriminator_steps_per_round: 3 image_source: FRESH }
      exchange { image_encoding: UINT8 poll_seconds: 0.5 }
      generator { batch_size: 8 sync { interval: 2 } network { mlp {} } }
      discriminator {
        batch_size: 6 workers: 2 micro_batch: 3 clip_gradient_norm: 4
        sync { mode: AVERAGE_STATE interval: 5 collective: NCCL }
        network { sngan {} }
      }
      penalties { r1: 1 }
      )",
                           "config", config));
  return config;
}

RunPlan PlanOf(const RunConfig& config, int64_t rollbacks = 0) {
  return MakeRunPlan(EffectiveRunConfig::OfValid(config), rollbacks);
}

TEST(RunPlanTest, LargeFleetsSendFewerHeartbeats) {
  RunConfig config = PlannedConfig();
  EXPECT_EQ(PlanOf(config).control.heartbeat, absl::Milliseconds(250));
  config.mutable_generator()->set_workers(64);
  config.mutable_discriminator()->set_workers(64);
  EXPECT_EQ(PlanOf(config).control.heartbeat, absl::Milliseconds(1280));
  config.mutable_control()->set_heartbeat_timeout_seconds(5);
  EXPECT_EQ(PlanOf(config).control.heartbeat, absl::Milliseconds(500));
}

TEST(RunPlanTest, AStepHasTheBatchesOfItsInterval) {
  const RunPlan plan = PlanOf(PlannedConfig());
  for (const int64_t batch :
       {plan.generator.step_batch, plan.schedule().generator_batch,
        plan.data.generator_batch, plan.ema.batch_size,
        plan.generator.optimizer_use.batch_size}) {
    EXPECT_EQ(batch, 16);
  }
  EXPECT_EQ(plan.generator.step_batches, 2);
  EXPECT_EQ(plan.schedule().generator_batches, 2);
  EXPECT_EQ(plan.schedule().discriminator_batches, 1);
  EXPECT_EQ(plan.discriminator.step_batch, 6);
  EXPECT_EQ(plan.discriminator.steps_to_agreement, 5);
  EXPECT_EQ(plan.exchange.discriminator_skew, 5);
}

TEST(RunPlanTest, RolesHaveSeparateSettings) {
  const RunPlan plan = PlanOf(PlannedConfig());
  EXPECT_TRUE(plan.role(GENERATOR).network.network.has_mlp());
  EXPECT_TRUE(plan.role(DISCRIMINATOR).network.network.has_sngan());
  EXPECT_EQ(plan.generator.optimizer_use.steps_per_round, 1);
  EXPECT_EQ(plan.discriminator.optimizer_use.steps_per_round, 3);
  EXPECT_EQ(plan.generator.clip_gradient_norm,
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(plan.discriminator.clip_gradient_norm, 4);
  EXPECT_TRUE(plan.discriminator.uses_nccl);
  EXPECT_FALSE(plan.generator.uses_nccl);
  EXPECT_TRUE(plan.generator.network.may_be_float16);
  EXPECT_FALSE(plan.discriminator.network.may_be_float16);
  EXPECT_EQ(plan.discriminator.network.data.num_classes, 3);
}

TEST(RunPlanTest, OnlyRolesWithSecondTermsHaveSecondUpdates) {
  RunConfig config = PlannedConfig();
  PenaltyConfig& penalties = *config.mutable_penalties();
  penalties.set_r1(1);
  penalties.set_gradient_every_steps(16);
  EXPECT_EQ(PlanOf(config).discriminator.optimizer_use.lazy_every, 0);
  penalties.set_lazy_update(PenaltyConfig::SEPARATE);
  EXPECT_EQ(PlanOf(config).discriminator.optimizer_use.lazy_every, 16);
  EXPECT_EQ(PlanOf(config).generator.optimizer_use.lazy_every, 0);
  penalties.set_path_length(2);
  EXPECT_EQ(PlanOf(config).generator.optimizer_use.lazy_every, 4);
}

TEST(RunPlanTest, FusedFeedbackSetsItsOrderAndItsPasses) {
  const auto plan_of = [](const std::string& text) {
    RunConfig config;
    EXPECT_OK(
        ParseTextProto("rounds: 1 generator { network { mlp {} } } "
                       "discriminator { network { mlp {} } } " +
                           text,
                       "config", config));
    return PlanOf(config);
  };
  const RunPlan fused = plan_of("schedule { feedback: FUSED }");
  EXPECT_EQ(fused.schedule().feedback, FeedbackMode::kFused);
  EXPECT_FALSE(fused.schedule().real_first);
  EXPECT_TRUE(fused.objective.fused_in_one_pass);
  const RunPlan relativistic =
      plan_of("loss: RELATIVISTIC_PAIRED schedule { feedback: FUSED }");
  EXPECT_TRUE(relativistic.schedule().real_first);
  EXPECT_FALSE(relativistic.objective.fused_in_one_pass);
  EXPECT_FALSE(relativistic.judges_with_real_images);
  const RunPlan judged = plan_of(
      "loss: RELATIVISTIC_PAIRED schedule { feedback: IMAGE_GRADIENT }");
  EXPECT_TRUE(judged.schedule().real_first);
  EXPECT_TRUE(judged.judges_with_real_images);
}

TEST(RunPlanTest, ARollbackChangesTheNoiseOnly) {
  const RunPlan plan = PlanOf(PlannedConfig());
  EXPECT_EQ(plan.noise_seed, 5);
  EXPECT_EQ(plan.objective.seed, 5);
  std::set<uint64_t> seeds = {plan.noise_seed};
  for (const int64_t rollbacks : {1, 2, 1}) {
    const RunPlan other = PlanOf(PlannedConfig(), rollbacks);
    seeds.insert(other.noise_seed);
    EXPECT_EQ(other.objective.seed, other.noise_seed);
    EXPECT_EQ(other.data.seed, 5);
    EXPECT_EQ(other.samples.seed, 5);
    EXPECT_EQ(other.generator.network.seed, 5);
  }
  EXPECT_EQ(seeds.size(), 3);
}

TEST(RunPlanTest, TheExchangeReceivesTheRunAndThePlace) {
  const RunConfig config = PlannedConfig();
  const ExchangeOptions options = ExchangeAt(
      PlanOf(config),
      {.rank = 1, .run_epoch = 4, .incarnation = 9, .first_round = 20});
  EXPECT_EQ(options.schedule.lag, 2);
  EXPECT_EQ(options.schedule.discriminator_micro_batch, 3);
  EXPECT_EQ(options.image_format.encoding, Encoding::kUint8);
  EXPECT_EQ(options.feedback_format.encoding, Encoding::kFloat32);
  EXPECT_EQ(options.image_format.height, 32);
  EXPECT_EQ(options.num_discriminators, 2);
  EXPECT_EQ(options.config_hash, ConfigHash(config));
  EXPECT_EQ(options.rank, 1);
  EXPECT_EQ(options.run_epoch, 4);
  EXPECT_EQ(options.incarnation, 9);
  EXPECT_EQ(options.first_round, 20);
}

}  // namespace
}  // namespace gandem
