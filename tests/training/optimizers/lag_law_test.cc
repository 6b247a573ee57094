// SPDX-License-Identifier: Apache-2.0
//
// The effect of a lag on a game, and of optimism on that effect
// (docs/optimizers.md). In min_x max_y x * y, the distance to the solution
// grows in a round by
//
//   (L - a_G - a_D / R + m_G + m_D / R) / 2 * eta_G eta_D R
//
// where m = beta / (1 - beta) is the delay of a mean of gradients. The tests
// use the operations of the real schedule, in their order, and the real
// optimizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/optimizer_validate.h"
#include "exchange/schedule.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "training/optimizers/make_optimizer.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using ::testing::HasSubstr;

// Rounds of a turn around the solution. The distance is measured after whole
// turns because it oscillates within a turn.
constexpr int kTurn = 1256;
constexpr int kTurns = 4;  // turns after the first, which fills the history

RunConfig GameConfig(int64_t lag, int64_t steps, double generator_optimism,
                     double discriminator_optimism, double beta = 0) {
  RunConfig config;
  config.mutable_schedule()->set_lag(lag);
  config.mutable_schedule()->set_discriminator_steps_per_round(steps);
  const double rate =
      2 * std::numbers::pi / kTurn / std::sqrt(static_cast<double>(steps));
  const auto set = [&](OptimizerConfig& optimizer, double optimism) {
    optimizer.mutable_sgd()->set_learning_rate(rate);
    optimizer.mutable_sgd()->set_momentum(beta);
    optimizer.mutable_sgd()->set_dampening(beta);
    optimizer.set_optimism(optimism);
  };
  set(*config.mutable_generator()->mutable_optimizer(), generator_optimism);
  set(*config.mutable_discriminator()->mutable_optimizer(),
      discriminator_optimism);
  return config;
}

// A parameter and its optimizer.
class Player {
 public:
  Player(const OptimizerConfig& config, double value)
      : number_(torch::full({1}, value, torch::kFloat64)),
        optimizer_(MakeOptimizer(config, {{"number", number_}}, {})) {}
  double value() const { return number_.item<double>(); }
  void Step(double gradient) {
    number_.mutable_grad() = torch::full({1}, gradient, torch::kFloat64);
    ASSERT_OK(optimizer_->Step());
  }

 private:
  at::Tensor number_;
  std::unique_ptr<Optimizer> optimizer_;
};

// Returns the growth of the logarithm of the distance per round, divided by the
// product of both roles' movements.
double GrowthOf(const RunConfig& config) {
  const auto& schedule_config = config.schedule();
  const Schedule schedule = {
      .lag = schedule_config.lag(),
      .discriminator_steps_per_round =
          schedule_config.discriminator_steps_per_round(),
      .generator_batch = schedule_config.discriminator_steps_per_round()};
  Player generator(ResolvedOptimizer(config, GENERATOR), 1);
  Player discriminator(ResolvedOptimizer(config, DISCRIMINATOR), 0);
  std::vector<double> versions = {discriminator.value()};  // phi_0 ...
  double start = 0;
  for (int64_t round = 0; round < kTurn * (kTurns + 1); ++round) {
    if (round == kTurn) {
      start = std::hypot(generator.value(), discriminator.value());
    }
    // Both players see theta_t. With lag 0 the critic is the version at the end
    // of this round.
    const double images = generator.value();
    for (const DiscriminatorOp& op : DiscriminatorRound(schedule, 0, 1)) {
      if (op.kind != DiscriminatorOp::Kind::kUpdate) continue;
      discriminator.Step(-images);
      versions.push_back(discriminator.value());
    }
    double critic = std::nan("");
    for (const GeneratorOp& op : GeneratorRound(schedule, round, 0, 1)) {
      if (op.kind == GeneratorOp::Kind::kTakeCritic) {
        critic = versions.at(op.critic_version);
      }
      if (op.kind == GeneratorOp::Kind::kUpdate) generator.Step(critic);
    }
  }
  const double end = std::hypot(generator.value(), discriminator.value());
  const double way = 2 * std::numbers::pi / kTurn;  // sqrt(R) * rate
  return std::log(end / start) / (kTurn * kTurns) / (way * way);
}

struct GameCase {
  const char* name;
  int64_t lag;
  int64_t steps;
  double generator_optimism;
  double discriminator_optimism;
  double beta;
  double growth;
};

class LagLawTest : public ::testing::TestWithParam<GameCase> {};

TEST_P(LagLawTest, TheDistanceGrowsWithTheLagThatOptimismLeaves) {
  const GameCase& game = GetParam();
  const RunConfig config =
      GameConfig(game.lag, game.steps, game.generator_optimism,
                 game.discriminator_optimism, game.beta);
  const auto steps = static_cast<double>(game.steps);
  const double momentum = game.beta / (1 - game.beta) * (1 + 1 / steps);
  const double unmatched = static_cast<double>(game.lag) -
                           game.generator_optimism -
                           game.discriminator_optimism / steps;
  EXPECT_NEAR((unmatched + momentum) / 2, game.growth, 1e-12);
  EXPECT_NEAR(GrowthOf(config), game.growth, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(
    Games, LagLawTest,
    ::testing::Values(GameCase{"Synchronous", 0, 1, 0, 0, 0, 0},
                      GameCase{"Lag1", 1, 1, 0, 0, 0, 0.5},
                      GameCase{"Lag4", 4, 1, 0, 0, 0, 2},
                      GameCase{"Lag1GeneratorAlone", 1, 1, 1, 0, 0, 0},
                      GameCase{"Lag1DiscriminatorAlone", 1, 1, 0, 1, 0, 0},
                      GameCase{"Lag2Unequal", 2, 1, 0.5, 1, 0, 0.25},
                      GameCase{"Lag4TooLittle", 4, 1, 1, 1, 0, 1},
                      GameCase{"Lag1More", 1, 1, 1, 1, 0, -0.5},
                      GameCase{"TwoStepsDiscriminatorHalf", 1, 2, 0, 1, 0,
                               0.25},
                      GameCase{"ThreeSteps", 2, 3, 1, 1.5, 0, 0.25},
                      GameCase{"MomentumIsALag", 1, 1, 1, 1, 0.5, 0.5}),
    [](const auto& info) { return std::string(info.param.name); });

// The least optimism that does not spiral outwards.
TEST(LagMatchedTest, MatchedOptimismLeavesNoLag) {
  for (const auto& [lag, steps] :
       {std::pair(0, 1), std::pair(3, 1), std::pair(2, 2)}) {
    RunConfig config = GameConfig(lag, steps, 0, 0);
    for (RoleConfig* const role :
         {config.mutable_generator(), config.mutable_discriminator()}) {
      role->mutable_optimizer()->set_optimism_rule(
          OptimizerConfig::LAG_MATCHED);
    }
    EXPECT_NEAR(GrowthOf(config), 0, 1e-3) << lag << " " << steps;
    config.mutable_generator()->mutable_optimizer()->set_optimism_rule(
        OptimizerConfig::FIXED);
    EXPECT_NEAR(GrowthOf(config), 0, 2e-3) << lag << " " << steps;
  }
}

}  // namespace
}  // namespace gandem
