// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/trials/halving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr double kFailed = std::numeric_limits<double>::infinity();

// Returns scores of the seeds 1, 2, 3 ...
SeedScores Scores(const std::vector<double>& values) {
  SeedScores scores;
  for (size_t i = 0; i < values.size(); ++i) scores[i + 1] = values[i];
  return scores;
}

// One seed is three times better than another, in all candidates alike.
TEST(HalvingTest, ScoresAreComparedSeedBySeed) {
  const std::vector<SeedScores> candidates = {
      Scores({110, 335, 218}), Scores({100, 300, 200}), Scores({150, 446, 302}),
      Scores({99, 303, 199})};
  const std::vector<Standing> standings = Compare(candidates);
  ASSERT_THAT(standings, SizeIs(4));
  EXPECT_EQ(standings[0].log_ratio, 0);
  EXPECT_FALSE(standings[0].is_worse);
  EXPECT_FALSE(standings[1].is_worse);  // candidates 1 and 3: within the noise
  EXPECT_EQ(standings[2].candidate, 0);
  EXPECT_TRUE(standings[2].is_worse);
  EXPECT_EQ(standings[3].candidate, 2);
  EXPECT_NEAR(standings[3].log_ratio, std::log(1.5), 0.01);
  EXPECT_LT(standings[3].sd, 0.03);
  EXPECT_THAT(Survivors(standings), ElementsAre(1, 3));
}

// A single seed, or the mean, seems to favor a candidate.
TEST(HalvingTest, ADifferenceInsideTheNoiseDecidesNothing) {
  const std::vector<SeedScores> candidates = {
      Scores({80, 120, 100}), Scores({120, 85, 96}), Scores({95, 102, 99}),
      Scores({101, 94, 125})};
  const std::vector<Standing> standings = Compare(candidates);
  for (const Standing& standing : standings) {
    EXPECT_FALSE(standing.is_worse) << standing.candidate;
  }
  EXPECT_THAT(Survivors(standings), ElementsAre(0, 1, 2, 3));
  for (int given = 0; given < 4; ++given) {
    EXPECT_EQ(Winner(standings, given), given);
  }
}

TEST(HalvingTest, OneSeedDecidesOnlyFailures) {
  const std::vector<SeedScores> candidates = {Scores({300}), Scores({100}),
                                              Scores({kFailed})};
  const std::vector<Standing> standings = Compare(candidates);
  EXPECT_EQ(standings[0].candidate, 1);
  EXPECT_TRUE(std::isinf(standings[1].sd));
  EXPECT_FALSE(standings[1].is_worse);
  EXPECT_TRUE(standings[2].is_worse);
  EXPECT_THAT(Survivors(standings), ElementsAre(0, 1));
  EXPECT_EQ(Winner(standings, 0), 0);
  EXPECT_EQ(Winner(standings, 2), 1);
}

TEST(HalvingTest, AFailureOfOneSeedIsAFailure) {
  const std::vector<SeedScores> candidates = {
      Scores({100, 101}), Scores({90, std::nan("")}), Scores({102, 99})};
  const std::vector<Standing> standings = Compare(candidates);
  EXPECT_EQ(standings.back().candidate, 1);
  EXPECT_TRUE(standings.back().is_worse);
  EXPECT_THAT(Survivors(standings), ElementsAre(0, 2));
}

TEST(HalvingTest, OnlySeedsOfAllCandidatesCount) {
  std::vector<SeedScores> candidates = {Scores({100, 200}), Scores({50, 100})};
  candidates[0][7] = 1;
  EXPECT_EQ(Compare(candidates)[0].seeds, 2);
  EXPECT_EQ(Compare(candidates)[0].candidate, 1);
}

// The best of eight equal candidates must not beat the user's own: at most
// about as often as the confidence allows for each of seven.
TEST(HalvingTest, EqualCandidatesAreNotDistinguished) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 0.1);
  int found = 0;
  for (int study = 0; study < 200; ++study) {
    std::vector<SeedScores> candidates(8);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const double fast = 3 * normal(random);
      for (SeedScores& scores : candidates) {
        scores[seed] = std::exp(4 + fast + normal(random));
      }
    }
    if (Winner(Compare(candidates), 0) != 0) ++found;
  }
  EXPECT_LE(found, 30);
}

// The candidate is better by three standard deviations.
TEST(HalvingTest, ABetterCandidateIsFound) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal(0, 0.1);
  int found = 0;
  for (int study = 0; study < 100; ++study) {
    std::vector<SeedScores> candidates(4);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      for (size_t i = 0; i < candidates.size(); ++i) {
        candidates[i][seed] =
            std::exp(4 + normal(random) - (i == 2 ? 0.3 : 0.0));
      }
    }
    if (Winner(Compare(candidates), 0) == 2) ++found;
  }
  EXPECT_GE(found, 70);
}

TEST(HalvingTest, RungsDouble) {
  EXPECT_THAT(RungRounds(1600, 3), ElementsAre(400, 800, 1600));
  EXPECT_THAT(RungRounds(3, 5), ElementsAre(1, 3));
  EXPECT_THAT(RungRounds(1, 4), ElementsAre(1));
}

}  // namespace
}  // namespace gandem
