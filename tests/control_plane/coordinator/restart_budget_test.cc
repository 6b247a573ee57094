// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/restart_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WorkerKey kRestarted = {GENERATOR, 1};
constexpr WorkerKey kOther = {DISCRIMINATOR, 0};

class RestartBudgetTest : public ::testing::Test {
 protected:
  // Reports a death. Returns the wait before the next start.
  absl::Duration WaitAfterDeath(RestartBudget& budget) {
    budget.Spend(kRestarted, now_);
    return budget.StartAt(kRestarted) - now_;
  }
  // Completes a round of all workers each second.
  void Train(RestartBudget& budget, absl::Duration time) {
    const absl::Time end = now_ + time;
    while (now_ < end) {
      now_ += absl::Seconds(1);
      ++round_;
      budget.NoteRounds(kOther, 0, round_, now_);
      budget.NoteRounds(kRestarted, 0, round_, now_);
    }
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  int64_t round_ = 0;
};

TEST_F(RestartBudgetTest, FirstStartIsImmediateAndOthersWaitLonger) {
  RestartBudget budget({.restarts = 100});
  EXPECT_LE(budget.StartAt(kRestarted), now_);
  EXPECT_EQ(WaitAfterDeath(budget), absl::ZeroDuration());
  for (const int seconds : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    EXPECT_EQ(WaitAfterDeath(budget), absl::Seconds(seconds));
  }
  for (int i = 0; i < 80; ++i) WaitAfterDeath(budget);
  EXPECT_LE(WaitAfterDeath(budget), absl::Seconds(60));
  EXPECT_LE(budget.StartAt(kOther), now_);
}

TEST_F(RestartBudgetTest, DeathsWithinOneTickAreOneRestart) {
  RestartBudget budget({.restarts = 2});
  EXPECT_TRUE(budget.Spend(kRestarted, now_));
  EXPECT_TRUE(budget.Spend(kOther, now_));
  EXPECT_EQ(budget.left(), 1);
  EXPECT_EQ(budget.total(), 2);
  budget.EndTick();
  EXPECT_TRUE(budget.Spend(kOther, now_));
  EXPECT_EQ(budget.left(), 0);
  // The worker was restarted in between.
  EXPECT_FALSE(budget.Spend(kOther, now_));
}

TEST_F(RestartBudgetTest, LongestWaitCanBeShorter) {
  RestartBudget budget({.longest_wait = absl::Milliseconds(500)});
  WaitAfterDeath(budget);
  EXPECT_EQ(WaitAfterDeath(budget), absl::Milliseconds(500));
}

TEST_F(RestartBudgetTest, NewRoundsEndTheWait) {
  RestartBudget budget({.restarts = 100});
  budget.NoteRounds(kRestarted, 0, 7, now_);
  WaitAfterDeath(budget);
  // Rounds completed before the death are no progress.
  budget.NoteRounds(kRestarted, 4, 7, now_);
  EXPECT_GT(WaitAfterDeath(budget), absl::ZeroDuration());
  budget.NoteRounds(kRestarted, 4, 8, now_);
  EXPECT_EQ(WaitAfterDeath(budget), absl::ZeroDuration());
}

TEST_F(RestartBudgetTest, RoundsOfOtherWorkersDoNotEndTheWait) {
  RestartBudget budget({.restarts = 100});
  WaitAfterDeath(budget);
  budget.NoteRounds(kOther, 0, 20, now_);
  // The worker takes over the state of the others.
  budget.NoteRounds(kRestarted, 20, 20, now_);
  EXPECT_GT(WaitAfterDeath(budget), absl::ZeroDuration());
  budget.NoteRounds(kRestarted, 20, 21, now_);
  EXPECT_EQ(WaitAfterDeath(budget), absl::ZeroDuration());
}

TEST_F(RestartBudgetTest, AnHourOfNewRoundsRestoresOne) {
  RestartBudget budget({.restarts = 2});
  Train(budget, absl::Hours(5));  // nothing exceeds the budget
  EXPECT_TRUE(budget.Spend(kRestarted, now_));
  EXPECT_TRUE(budget.Spend(kRestarted, now_));
  EXPECT_EQ(budget.left(), 0);
  Train(budget, absl::Minutes(59));
  EXPECT_EQ(budget.left(), 0);
  Train(budget, absl::Minutes(2));
  EXPECT_EQ(budget.left(), 1);
  EXPECT_TRUE(budget.Spend(kRestarted, now_));
  EXPECT_FALSE(budget.Spend(kRestarted, now_));
  EXPECT_EQ(budget.total(), 4);
}

TEST_F(RestartBudgetTest, TimeWithoutNewRoundsRestoresNothing) {
  RestartBudget budget({.restarts = 2});
  Train(budget, absl::Seconds(10));
  budget.Spend(kRestarted, now_);
  for (int hour = 0; hour < 10; ++hour) {
    now_ += absl::Hours(1);
    budget.NoteRounds(kRestarted, 5, round_, now_);
  }
  EXPECT_EQ(budget.left(), 1);
  // The time before the first new round repeated old rounds.
  budget.NoteRounds(kRestarted, 5, round_ + 1, now_);
  EXPECT_EQ(budget.left(), 1);
}

TEST_F(RestartBudgetTest, MissingProgressIsReported) {
  RestartBudget budget({.restarts = 2});
  for (int i = 0; i < 3; ++i) budget.Spend(kRestarted, now_);
  EXPECT_THAT(budget.UsedUpText(),
              AllOf(HasSubstr("budget of 2 restarts is used up"),
                    HasSubstr("control.restart_budget"),
                    HasSubstr("the last 3 deaths came without a new round")));
  budget.NoteRounds(kRestarted, 0, 1, now_);
  budget.Spend(kRestarted, now_);
  EXPECT_THAT(budget.UsedUpText(), Not(HasSubstr("without a new round")));
}

}  // namespace
}  // namespace gandem
