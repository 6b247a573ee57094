// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/trials/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "common/config/run_config.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr double kFailedTrial = std::numeric_limits<double>::infinity();

RunConfig TrialRecipe(std::vector<std::string> sets = {}) {
  const auto config = ParseRunConfig(R"(
      rounds: 400
      schedule { lag: 4 }
      generator { network { mlp {} } optimizer { adam { beta1: 0.5 } } }
      discriminator { network { mlp {} } optimizer { adam { beta1: 0.5 } } }
  )",
                                     "trials", sets);
  EXPECT_OK(config.status());
  return *config;
}

Trials Study(int count, const RunConfig& recipe) {
  Trials trials;
  *trials.mutable_recipe() = recipe;
  AddTrials(recipe, count, trials);
  for (const int64_t rounds : RungRounds(400, 3)) trials.add_rungs(rounds);
  for (const uint64_t seed : {1, 2, 3}) trials.add_seeds(seed);
  return trials;
}

// Returns distances that fall with the rounds. Slow seeds are always slow.
double FakeDistance(const TrialRun& run, double factor) {
  const double seeds[] = {0, 1, 1.4, 0.8};
  const double jitter = 1 + 0.01 * ((run.trial * 7 + run.seed * 5) % 3);
  return 1000 * factor * seeds[run.seed] * jitter *
         std::exp(-static_cast<double>(run.rounds) / 200);
}

int Play(Trials& trials, const std::function<double(const TrialRun&)>& score) {
  int runs = 0;
  while (const auto run = NextRun(trials)) {
    AddScore(*run, score(*run), trials);
    if (++runs > 1000) ADD_FAILURE() << "it does not end";
    if (runs > 1000) break;
  }
  return runs;
}

TEST(TrialsTest, RecipeAndSynchronousRunComeFirst) {
  const Trials trials = Study(8, TrialRecipe());
  ASSERT_THAT(trials.trials(), SizeIs(8));
  EXPECT_EQ(trials.trials(0).name(), "recipe");
  EXPECT_TRUE(trials.trials(0).sets().empty());
  EXPECT_TRUE(trials.trials(1).is_reference());
  const auto synchronous = ConfigOf(trials.trials(1), trials.recipe());
  ASSERT_OK(synchronous.status());
  EXPECT_EQ(synchronous->schedule().lag(), 0);
  const auto matched = ConfigOf(trials.trials(2), trials.recipe());
  ASSERT_OK(matched.status());
  const RunConfig effective = EffectiveConfig(*matched);
  EXPECT_EQ(effective.generator().optimizer().optimism(), 2);
  EXPECT_EQ(effective.generator().optimizer().adam().beta1(), 0);
  // The roles have different learning rates.
  const auto two_rates = ConfigOf(trials.trials(3), trials.recipe());
  ASSERT_OK(two_rates.status());
  EXPECT_EQ(two_rates->discriminator().optimizer().adam().learning_rate(),
            4e-4);
  EXPECT_EQ(two_rates->generator().optimizer().adam().learning_rate(), 2e-4);
}

TEST(TrialsTest, TrialsAreDistinct) {
  // The recipe is the reference, and beta1 is 0 already.
  const Trials trials = Study(
      100, TrialRecipe({"schedule.lag=0", "generator.optimizer.adam.beta1=0",
                        "discriminator.optimizer.adam.beta1=0"}));
  EXPECT_EQ(trials.trials(0).name(), "recipe");
  EXPECT_TRUE(trials.trials(0).is_reference());
  EXPECT_EQ(trials.trials(1).name(), "beta1 0, discriminator rate x 2");
  EXPECT_LT(trials.trials_size(), 20);
}

// FUSED and BOUNDED allow no lag of 0, AdaBelief no beta1 of 0.
TEST(TrialsTest, EveryTrialIsAValidConfig) {
  for (const std::vector<std::string>& sets :
       std::vector<std::vector<std::string>>{
           {"schedule.lag=1", "schedule.feedback=FUSED"},
           {"schedule.consistency=BOUNDED", "schedule.max_samples_per_image=2"},
           {"generator.optimizer.adabelief={}"},
           {"discriminator.optimizer.sgd={momentum: 0.5}"}}) {
    const RunConfig recipe = TrialRecipe(sets);
    const Trials trials = Study(12, recipe);
    EXPECT_GE(trials.trials_size(), 4) << sets[0];
    EXPECT_TRUE(trials.trials(1).is_reference()) << sets[0];
    for (const Trial& trial : trials.trials()) {
      EXPECT_OK(ConfigOf(trial, recipe).status());
    }
  }
}

TEST(TrialsTest, HalvingFindsTheBestTrial) {
  Trials trials = Study(8, TrialRecipe());
  const double factors[] = {1.3, 0.9, 1, 1.5, 1.6, 1.7, 1.8, 1.9};
  const int runs = Play(trials, [&](const TrialRun& run) {
    return FakeDistance(run, factors[run.trial]);
  });
  // The reference is kept; half of the seven others remain, then half of those.
  EXPECT_EQ(runs, 3 * (8 + (4 + 1) + (2 + 1)));
  EXPECT_EQ(StandingsOf(trials).rounds, 400);
  EXPECT_EQ(WinnerOf(trials), 2);
  const std::string text = TrialsText(trials);
  EXPECT_THAT(text, HasSubstr("after 400 rounds, 3 of 3 seeds"));
  EXPECT_THAT(text, HasSubstr("lag-matched is better than the recipe:\n  --set "
                              "generator.optimizer.optimism_rule=LAG_MATCHED"));
}

TEST(TrialsTest, WithinTheNoiseTheRecipeStays) {
  Trials trials = Study(4, TrialRecipe());
  Play(trials, [](const TrialRun& run) {
    return FakeDistance(run, run.trial == 0 ? 1.005 : 1);
  });
  EXPECT_EQ(WinnerOf(trials), 0);
  EXPECT_THAT(TrialsText(trials),
              HasSubstr("nothing is known to be better than the recipe"));
}

TEST(TrialsTest, DivergedTrialsAreDropped) {
  Trials trials = Study(4, TrialRecipe());
  Play(trials, [](const TrialRun& run) {
    return run.trial == 0 && run.seed == 2 ? kFailedTrial
                                           : FakeDistance(run, 1);
  });
  for (const TrialScore& score : trials.trials(0).scores()) {
    EXPECT_EQ(score.rounds(), 100);
  }
  EXPECT_NE(WinnerOf(trials), 0);
}

TEST(TrialsTest, InterruptedStudiesContinueWithTheSameRun) {
  Trials whole = Study(6, TrialRecipe());
  const auto score = [](const TrialRun& run) {
    return FakeDistance(run, 1 + 0.2 * run.trial);
  };
  Play(whole, score);
  Trials parts = Study(6, TrialRecipe());
  for (int i = 0; i < 4; ++i) {
    const auto run = NextRun(parts);
    AddScore(*run, score(*run), parts);
  }
  Trials read_again;
  ASSERT_TRUE(read_again.ParseFromString(parts.SerializeAsString()));
  Play(read_again, score);
  EXPECT_EQ(read_again.DebugString(), whole.DebugString());
  EXPECT_THAT(TrialsText(Study(6, TrialRecipe())),
              HasSubstr("no two trials can be compared yet"));
}

TEST(TrialsTest, AnotherStudyIsNamed) {
  const Trials trials = Study(4, TrialRecipe());
  EXPECT_OK(CheckSameStudy(trials, trials));
  Trials other = Study(5, TrialRecipe({"generator.batch_size=128",
                                       "discriminator.batch_size=128"}));
  EXPECT_THAT(
      CheckSameStudy(trials, other),
      StatusIs(
          absl::StatusCode::kFailedPrecondition,
          HasSubstr("another study (added: recipe.generator.batch_size: 128): "
                    "give another folder")));
  other = trials;
  other.add_seeds(9);
  EXPECT_THAT(CheckSameStudy(trials, other),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another study (added: seeds[")));
}

}  // namespace
}  // namespace gandem
