// SPDX-License-Identifier: Apache-2.0
//
// Runs in 16-bit precision reach the loss of float32 runs: after 300 rounds the
// mean loss of the last 50 is within three standard deviations of three float32
// seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/training/runs/train_recipe.h"

namespace gandem {
namespace {

using Precision = RoleConfig::Precision;
using gandem::testing::RecipeLosses;
using gandem::testing::TrainRecipe;

TEST(RecipeTest, ThreeHundredRoundsAreWithinThreeDeviations) {
  constexpr int64_t kRounds = 300;
  constexpr int64_t kLast = 50;
  std::vector<RecipeLosses> seeds;
  for (const int seed : {1, 2, 3}) {
    seeds.push_back(
        TrainRecipe({.rounds = kRounds, .last = kLast, .seed = seed}));
  }
  const auto expect = [&](double RecipeLosses::*part,
                          const RecipeLosses& rounded,
                          const std::string& what) {
    double mean = 0;
    for (const RecipeLosses& seed : seeds) mean += seed.*part / 3;
    double variance = 0;
    for (const RecipeLosses& seed : seeds) {
      variance += (seed.*part - mean) * (seed.*part - mean) / 2;
    }
    std::printf("%s: %.4f, float32 %.4f +- %.4f\n", what.c_str(), rounded.*part,
                mean, std::sqrt(variance));
    EXPECT_NEAR(rounded.*part, mean, 3 * std::sqrt(variance)) << what;
  };
  for (const Precision precision :
       {RoleConfig::BFLOAT16, RoleConfig::FLOAT16}) {
    const RecipeLosses rounded =
        TrainRecipe({.precision = precision, .rounds = kRounds, .last = kLast});
    const std::string name = RoleConfig::Precision_Name(precision);
    expect(&RecipeLosses::generator, rounded, name + " generator");
    expect(&RecipeLosses::discriminator, rounded, name + " discriminator");
  }
}

}  // namespace
}  // namespace gandem
