// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/config/optimizer_validate.h"
#include "common/config/run_config.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kOptimismConfig[] = R"(
  rounds: 10
  generator { network { mlp {} } optimizer { optimism_rule: LAG_MATCHED } }
  discriminator { network { mlp {} } optimizer { optimism_rule: LAG_MATCHED } }
)";

absl::StatusOr<RunConfig> WithOptimism(std::vector<std::string> sets) {
  return ParseRunConfig(kOptimismConfig, "optimism", sets);
}

// Returns the optimism of both roles in the effective config.
std::pair<double, double> OptimismWith(std::vector<std::string> sets) {
  const auto config = WithOptimism(std::move(sets));
  EXPECT_OK(config.status());
  if (!config.ok()) return {-1, -1};
  const RunConfig effective = EffectiveConfig(*config);
  for (const RoleConfig* const role :
       {&effective.generator(), &effective.discriminator()}) {
    EXPECT_EQ(role->optimizer().optimism_rule(), OptimizerConfig::FIXED);
  }
  EXPECT_EQ(EffectiveConfigText(effective), EffectiveConfigText(*config));
  return {effective.generator().optimizer().optimism(),
          effective.discriminator().optimizer().optimism()};
}

TEST(OptimismTest, TheEffectiveConfigHasTheOptimism) {
  using Pair = std::pair<double, double>;
  EXPECT_EQ(OptimismWith({"schedule.lag=0"}), Pair(0, 0));
  EXPECT_EQ(OptimismWith({"schedule.lag=1"}), Pair(0.5, 0.5));
  EXPECT_EQ(OptimismWith({"schedule.lag=4"}), Pair(2, 2));
  const std::vector<std::string> steps = {
      "schedule.lag=3", "schedule.discriminator_steps_per_round=5",
      "generator.batch_size=320"};
  EXPECT_EQ(OptimismWith(steps), Pair(3, 0));
  // The recipe's number is replaced.
  EXPECT_EQ(OptimismWith({"schedule.lag=2", "generator.optimizer.optimism=7"}),
            Pair(1, 1));
}

TEST(OptimismTest, ARoleCompensatesForTheOtherRole) {
  using Pair = std::pair<double, double>;
  const std::string fixed = "discriminator.optimizer.optimism_rule=FIXED";
  EXPECT_EQ(OptimismWith({"schedule.lag=3", fixed}), Pair(3, 0));
  EXPECT_EQ(OptimismWith({"schedule.lag=3", fixed,
                          "discriminator.optimizer.optimism=1"}),
            Pair(2, 1));
  EXPECT_EQ(OptimismWith({"schedule.lag=1", fixed,
                          "discriminator.optimizer.optimism=4"}),
            Pair(0, 4));
  EXPECT_EQ(
      OptimismWith({"schedule.lag=3", "generator.optimizer.optimism_rule=FIXED",
                    "generator.optimizer.optimism=2",
                    "schedule.discriminator_steps_per_round=2",
                    "generator.batch_size=128"}),
      Pair(2, 2));
}

TEST(OptimismTest, ALagThatCannotBeMatchedIsRefused) {
  EXPECT_OK(WithOptimism({"schedule.lag=20"}));
  EXPECT_THAT(
      WithOptimism({"schedule.lag=21"}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("generator.optimizer.optimism_rule LAG_MATCHED: "
                         "schedule.lag 21 needs an optimism of 10.5 here, and "
                         "at most 10 can be had: set a smaller schedule.lag")));
}

TEST(NoiseScaleConfigTest, NoiseScaleNeedsMicroBatchesOrWorkers) {
  const std::string every = "control.noise_scale_every_rounds=4";
  EXPECT_THAT(WithOptimism({every}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("set micro_batch or workers of generator or "
                                 "discriminator")));
  EXPECT_OK(WithOptimism({every, "generator.micro_batch=32"}));
  EXPECT_OK(WithOptimism({every, "discriminator.workers=2"}));
  EXPECT_THAT(
      WithOptimism(
          {every, "discriminator.workers=2", "control.metrics_every_rounds=3"}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("control.noise_scale_every_rounds 4 is no multiple of "
                         "control.metrics_every_rounds 3")));
  EXPECT_THAT(WithOptimism({"control.noise_scale_every_rounds=-1"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("control.noise_scale_every_rounds -1")));
}

}  // namespace
}  // namespace gandem
