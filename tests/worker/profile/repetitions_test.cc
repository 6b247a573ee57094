// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/repetitions.h"

#include <gtest/gtest.h>

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

// From one of the discriminator's rounds to the next, where a generator of
// kGeneratorSeconds a round and a discriminator of kDiscriminatorSeconds take
// turns in a process, each as far as the schedule lets it.
std::vector<double> SecondsBetweenRounds(int lag, int rounds) {
  std::vector<double> seconds;
  int generated = 0;
  double since_last = 0;
  while (std::ssize(seconds) < rounds) {
    // The images of a round are made before the critic is waited for, so the
    // discriminator gets lag + 1 rounds of them.
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

TEST(RepetitionsTest, TurnsTakeTheSameWhateverTheLag) {
  for (const int lag : {0, 1, 2, 3, 8}) {
    const int64_t turn = RoundsOfTurn(COLOCATED, WithLag(lag));
    const std::vector<double> seconds = SecondsBetweenRounds(lag, 72);
    // Single rounds differ: this is what turns are for.
    EXPECT_EQ(std::set<double>(seconds.begin(), seconds.end()).size(),
              lag == 0 ? 1u : 2u);
    const std::vector<double> means = MeansOfRepetitions(seconds, turn);
    ASSERT_GE(means.size(), 6u) << lag;
    for (const double mean : means) {
      EXPECT_DOUBLE_EQ(mean, kGeneratorSeconds + kDiscriminatorSeconds) << lag;
    }
  }
}

TEST(RepetitionsTest, ARoleByItselfHasNoTurns) {
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    EXPECT_EQ(RoundsOfTurn(role, WithLag(4)), 1);
  }
}

TEST(RepetitionsTest, WholeTurnsWithAsManyLazyPenalties) {
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

TEST(RepetitionsTest, MeansLeaveOutWhatIsNoRepetition) {
  EXPECT_EQ(MeansOfRepetitions({1, 3, 5, 7, 100}, 2),
            (std::vector<double>{2, 6}));
  EXPECT_EQ(MeansOfRepetitions({4, 6}, 1), (std::vector<double>{4, 6}));
  EXPECT_EQ(MeansOfRepetitions({4, 6}, 3), (std::vector<double>{5}))
      << "of fewer all count";
}

}  // namespace
}  // namespace gandem
