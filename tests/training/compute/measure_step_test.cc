// SPDX-License-Identifier: Apache-2.0
#include "training/compute/measure_step.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/files/text_proto.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "training/plan/run_plan.h"

namespace gandem {
namespace {

// Returns a config with two small residual networks.
RunConfig MeasureStepConfig() {
  RunConfig config;
  EXPECT_OK(ParseTextProto(R"(
      data { image_size: 32 }
      generator { batch_size: 16 network { sngan { width: 4 noise_dim: 8 } } }
      discriminator { batch_size: 16 network { sngan { width: 4 } } }
      )",
                           "config", config));
  return config;
}

// Returns the network plan of a role of `config`.
NetworkPlan MeasuredPlan(const RunConfig& config, Role role) {
  return MakeRunPlan(EffectiveRunConfig::OfValid(config)).role(role).network;
}

class MeasureStepTest : public ::testing::TestWithParam<Role> {
 protected:
  StepCost Measure(const RunConfig& config, const Compute& compute) {
    const auto cost =
        MeasureStep(MeasuredPlan(config, GetParam()), compute, {.steps = 1});
    EXPECT_OK(cost.status());
    EXPECT_GT(cost->time, absl::ZeroDuration());
    return *cost;
  }
  RoleConfig& RoleOf(RunConfig& config) {
    return GetParam() == GENERATOR ? *config.mutable_generator()
                                   : *config.mutable_discriminator();
  }
};

TEST_P(MeasureStepTest, ThePeakIsThatOfTensors) {
  RunConfig config = MeasureStepConfig();
  NetworkConfig& network = *RoleOf(config).mutable_network();
  network.mutable_mlp()->add_hidden(1000);
  network.mutable_mlp()->set_noise_dim(1000);
  // A layer has a thousand or a million weights and as many gradients; a batch
  // of 2 has almost no activations.
  const auto cost =
      MeasureStep(MeasuredPlan(config, GetParam()), {}, {.batch_size = 2});
  ASSERT_OK(cost.status());
  const double weights = (GetParam() == GENERATOR ? 1001000.0 : 0) +
                         1024 * 1000 + (GetParam() == GENERATOR ? 1024 : 2001);
  EXPECT_GT(cost->peak_bytes, 2 * 4 * weights);
  EXPECT_LT(cost->peak_bytes, 3.5 * 4 * weights);
}

// The network has no convolutions: on a CPU without 16-bit multiplication,
// convolutions need more memory in 16 bits than in 32.
TEST_P(MeasureStepTest, SixteenBitsNeedLessMemory) {
  RunConfig config = MeasureStepConfig();
  MlpConfig& network = *RoleOf(config).mutable_network()->mutable_mlp();
  for (int layer = 0; layer < 8; ++layer) network.add_hidden(128);
  network.set_noise_dim(16);
  config.mutable_data()->set_image_size(8);
  const auto peak = [&](const Compute& compute) {
    const auto cost = MeasureStep(MeasuredPlan(config, GetParam()), compute,
                                  {.batch_size = 1024, .steps = 1});
    EXPECT_OK(cost.status());
    return static_cast<double>(cost->peak_bytes);
  };
  EXPECT_LT(peak({.autocast = at::kBFloat16}), 0.85 * peak({}));
}

// A discriminator would not need less: its peak is in its first and largest
// block, the last one of the backward pass.
TEST(RecomputeTest, RecomputedBlocksOfAGeneratorNeedLessMemory) {
  RunConfig config = MeasureStepConfig();
  RoleConfig& role = *config.mutable_generator();
  BigganConfig& network = *role.mutable_network()->mutable_biggan();
  network.set_form(BigganConfig::DEEP);
  network.set_width(8);
  network.set_attention(false);
  const auto peak = [&] {
    const auto cost =
        MeasureStep(MeasuredPlan(config, GENERATOR), {}, {.steps = 1});
    EXPECT_OK(cost.status());
    return cost->peak_bytes;
  };
  const int64_t kept = peak();
  role.set_recompute_blocks(true);
  EXPECT_LT(peak(), 0.8 * kept);
}

TEST_P(MeasureStepTest, ABatchOfHalfTheSizeNeedsLessMemory) {
  const RunConfig config = MeasureStepConfig();
  const auto half =
      MeasureStep(MeasuredPlan(config, GetParam()), {}, {.batch_size = 8});
  ASSERT_OK(half.status());
  EXPECT_LT(half->peak_bytes, 0.65 * Measure(config, {}).peak_bytes);
}

TEST_P(MeasureStepTest, MeasuringLeavesNoTrace) {
  torch::manual_seed(4);
  const at::Tensor expected = torch::rand({3});
  torch::manual_seed(4);
  Measure(MeasureStepConfig(), {});
  EXPECT_TRUE(at::equal(torch::rand({3}), expected));
}

INSTANTIATE_TEST_SUITE_P(Roles, MeasureStepTest,
                         ::testing::Values(GENERATOR, DISCRIMINATOR),
                         [](const auto& info) {
                           return Role_Name(info.param);
                         });

TEST(MeasureStepLimitTest, ASlowWarmUpIsTheResult) {
  const auto cost =
      MeasureStep(MeasuredPlan(MeasureStepConfig(), GENERATOR), {},
                  {.steps = 1000000, .warmup_limit = absl::ZeroDuration()});
  ASSERT_OK(cost.status());
  EXPECT_GT(cost->time, absl::ZeroDuration());
}

}  // namespace
}  // namespace gandem
