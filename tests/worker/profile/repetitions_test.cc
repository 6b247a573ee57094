// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/repetitions.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace gandem {
namespace {

constexpr double kGeneratorSeconds = 5;
constexpr double kDiscriminatorSeconds = 2;

ScheduleConfig WithLag(int lag) {
  ScheduleConfig schedule;
  schedule.set_lag(lag);
  return schedule;
}

// Returns the seconds between the discriminator's rounds. A generator of
// kGeneratorSeconds per round and a discriminator of kDiscriminatorSeconds
// alternate in a process, each as far as the schedule allows.
std::vector<double> SecondsBetweenRounds(int lag, int rounds) {
  std::vector<double> seconds;
  int generated = 0;
  double since_last = 0;
  while (std::ssize(seconds) < rounds) {
    // A round's images are made before the generator waits for the critic, so
    // the discriminator gets lag + 1 rounds of images.
    const int done = static_cast<int>(std::ssize(seconds));
    for (; generated < done + lag + 1; ++generated) {
      since_last += kGeneratorSeconds;
    }
    while (std::ssize(seconds) < generated) {
      seconds.push_back(since_last + kDiscriminatorSeconds);
      since_last = 0;
    }
  }
  return seconds;
}

TEST(RepetitionsTest, TurnsTakeTheSameTimeWhateverTheLag) {
  for (const int lag : {0, 1, 2, 3, 8}) {
    const int64_t turn = RoundsOfTurn(COLOCATED, WithLag(lag));
    const std::vector<double> seconds = SecondsBetweenRounds(lag, 72);
    // Single rounds differ, so turns are measured.
    EXPECT_EQ(std::set<double>(seconds.begin(), seconds.end()).size(),
              lag == 0 ? 1u : 2u);
    const std::vector<double> means = MeansOfRepetitions(seconds, turn);
    ASSERT_GE(means.size(), 6u) << lag;
    for (const double mean : means) {
      EXPECT_DOUBLE_EQ(mean, kGeneratorSeconds + kDiscriminatorSeconds) << lag;
    }
  }
}

TEST(RepetitionsTest, ASingleRoleHasNoTurns) {
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    EXPECT_EQ(RoundsOfTurn(role, WithLag(4)), 1);
  }
}

TEST(RepetitionsTest, RepetitionsAreWholeTurnsWithEqualNumbersOfLazyPenalties) {
  RunConfig config;
  *config.mutable_schedule() = WithLag(1);
  config.mutable_penalties()->set_gradient_every_steps(3);
  EXPECT_EQ(RoundsOfRepetition(COLOCATED, config), 2) << "there is no penalty";
  config.mutable_penalties()->set_r1(1);
  EXPECT_EQ(RoundsOfRepetition(COLOCATED, config), 6);
  EXPECT_EQ(RoundsOfRepetition(DISCRIMINATOR, config), 3);
  config.mutable_penalties()->set_gradient_every_steps(4);
  EXPECT_EQ(RoundsOfRepetition(COLOCATED, config), 4);
  config.mutable_penalties()->set_path_length_every_steps(6);
  EXPECT_EQ(RoundsOfRepetition(COLOCATED, config), 4) << "it is off";
  config.mutable_penalties()->set_path_length(2);
  EXPECT_EQ(RoundsOfRepetition(COLOCATED, config), 12);
}

TEST(RepetitionsTest, MeansIgnoreIncompleteRepetitions) {
  EXPECT_EQ(MeansOfRepetitions({1, 3, 5, 7, 100}, 2),
            (std::vector<double>{2, 6}));
  EXPECT_EQ(MeansOfRepetitions({4, 6}, 1), (std::vector<double>{4, 6}));
  EXPECT_EQ(MeansOfRepetitions({4, 6}, 3), (std::vector<double>{5}))
      << "of fewer all count";
}

std::vector<double> From1To(int n) {
  std::vector<double> values(n);
  std::iota(values.rbegin(), values.rend(), 1.0);  // unsorted
  return values;
}

TEST(MedianIntervalTest, TheIntervalOfOneValueIsThatValue) {
  const MedianInterval interval = MedianIntervalOf({0.5});
  EXPECT_EQ(interval.median, 0.5);
  EXPECT_EQ(interval.low, 0.5);
  EXPECT_EQ(interval.high, 0.5);
  EXPECT_EQ(interval.values, 1);
  EXPECT_FALSE(interval.IsWithin(1)) << "one value tells nothing";
}

TEST(MedianIntervalTest, TheMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(MedianIntervalOf({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(MedianIntervalOf({4, 1, 3}).median, 3);
}

// Ranks from the table of binomial limits at p = 1/2, two-sided 5 %: n, and the
// number of the lower value (scipy.stats.binom.ppf(0.025, n, 0.5), at least 1).
TEST(MedianIntervalTest, RanksAreThoseOfTheBinomialDistribution) {
  constexpr struct {
    int n;
    int low;
  } kCases[] = {{5, 1},   {6, 1},    {8, 1},    {9, 2},  {11, 2},
                {12, 3},  {15, 4},   {20, 6},   {25, 8}, {30, 10},
                {50, 18}, {100, 40}, {500, 228}};
  for (const auto& [n, low] : kCases) {
    const MedianInterval interval = MedianIntervalOf(From1To(n));
    EXPECT_EQ(interval.low, low) << n;
    EXPECT_EQ(interval.high, n + 1 - low) << n;
    EXPECT_EQ(interval.values, n);
  }
}

TEST(MedianIntervalTest, SixEqualValuesAreEnoughAndFiveAreNot) {
  EXPECT_FALSE(MedianIntervalOf(std::vector<double>(5, 1.0)).IsWithin(0.05));
  EXPECT_TRUE(MedianIntervalOf(std::vector<double>(6, 1.0)).IsWithin(0.05));
  // One outlier is inside the interval of eight values, but not of nine.
  std::vector<double> values(8, 1.0);
  values[0] = 2;
  EXPECT_FALSE(MedianIntervalOf(values).IsWithin(0.05));
  values.push_back(1.0);
  EXPECT_TRUE(MedianIntervalOf(values).IsWithin(0.05));
}

TEST(MedianIntervalTest, OnlyTheLastOfVeryManyValuesCount) {
  std::vector<double> values(3000, 7.0);
  values.insert(values.end(), 1000, 3.0);
  EXPECT_EQ(MedianIntervalOf(values).high, 3.0);
}

}  // namespace
}  // namespace gandem
