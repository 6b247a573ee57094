// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/progress_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kRounds = 100;
constexpr WorkerKey kG0 = {GENERATOR, 0};
constexpr WorkerKey kG1 = {GENERATOR, 1};
constexpr WorkerKey kD0 = {DISCRIMINATOR, 0};
constexpr WorkerKey kD1 = {DISCRIMINATOR, 1};

ProgressWatch::Worker Waits(WorkerKey key, WorkerPosition::Wait wait,
                            Role whom = ROLE_UNKNOWN, int rank = -1,
                            double seconds = 58, int64_t completed = 7) {
  ProgressWatch::Worker worker{.key = key, .completed_rounds = completed};
  worker.position.set_wait(wait);
  worker.position.set_whom(whom);
  worker.position.set_rank(rank);
  worker.position.set_seconds(seconds);
  return worker;
}

ProgressWatch::Worker Computes(WorkerKey key, double seconds = 61,
                               int64_t completed = 7) {
  return Waits(key, WorkerPosition::NOTHING, ROLE_UNKNOWN, -1, seconds,
               completed);
}

struct GraphCase {
  const char* name;
  std::vector<ProgressWatch::Worker> workers;
  WorkerKey suspect;
};

TEST(FindSuspectTest, TheSuspectIsAtTheEndOfTheWaitChains) {
  using Position = WorkerPosition;
  const std::vector<GraphCase> cases = {
      {"a chain",
       {Waits(kG0, Position::FEEDBACK, DISCRIMINATOR, 1),
        Waits(kD0, Position::GRADIENTS, DISCRIMINATOR, 1), Computes(kD1)},
       kD1},
      {"a chain over all",
       {Waits(kG0, Position::GRADIENTS, GENERATOR, 1),
        Waits(kG1, Position::WEIGHTS, DISCRIMINATOR, 0),
        Waits(kD0, Position::DATA)},
       kD0},
      {"who computes is innocent while nobody waits for it",
       {Computes(kG0, 600), Waits(kG1, Position::FEEDBACK, DISCRIMINATOR, 0),
        Computes(kD0, 1)},
       kD0},
      {"any of a role",
       {Computes(kG0, 600, 8), Computes(kG1, 1, 7),
        Waits(kD0, Position::IMAGES, GENERATOR)},
       kG1},
      {"two that wait for each other: the one with fewer rounds",
       {Waits(kG0, Position::FEEDBACK, DISCRIMINATOR, 0, 58, 8),
        Waits(kD0, Position::IMAGES, GENERATOR, 0, 1, 7)},
       kD0},
      {"a circle, and one that waits for it",
       {Waits(kG0, Position::GRADIENTS, GENERATOR, 1, 900, 7),
        Waits(kG1, Position::FEEDBACK, DISCRIMINATOR, 0, 50),
        Waits(kD0, Position::GRADIENTS, DISCRIMINATOR, 1, 70),
        Waits(kD1, Position::GRADIENTS, DISCRIMINATOR, 0, 60)},
       kD0},
      {"all compute: the one that has for longest",
       {Computes(kG0, 60), Computes(kD0, 90), Computes(kD1, 80)},
       kD0},
      {"one that is done serves the others",
       {Waits(kG0, Position::FINISH, DISCRIMINATOR, -1, 300, kRounds),
        Computes(kD0, 20, 99)},
       kD0},
      {"it waits for one that is not in the run",
       {Waits(kG0, Position::FEEDBACK, DISCRIMINATOR, 5), Computes(kD0, 20)},
       kG0},
      {"a lone worker",
       {Waits({COLOCATED, 0}, Position::IMAGES, GENERATOR, 0)},
       {COLOCATED, 0}},
  };
  for (const GraphCase& test : cases) {
    EXPECT_EQ(FindSuspect(test.workers, kRounds), test.suspect) << test.name;
  }
}

TEST(WaitGraphTextTest, EachWorkerIsNamedAndTheTextIsBounded) {
  EXPECT_EQ(WaitGraphText(std::vector{Waits(kG0, WorkerPosition::FEEDBACK,
                                            DISCRIMINATOR, 1),
                                      Computes(kD1), Computes(kD0, 3, kRounds)},
                          kRounds),
            "generator 0 waits for feedback of discriminator 1 since 58 s; "
            "discriminator 1 computes since 61 s; discriminator 0 has done all "
            "rounds");
  std::vector<ProgressWatch::Worker> many;
  for (int rank = 0; rank < 40; ++rank) {
    many.push_back(Computes({GENERATOR, rank}));
  }
  EXPECT_THAT(WaitGraphText(many, kRounds),
              AllOf(HasSubstr("generator 15 "), HasSubstr("and 24 more"),
                    Not(HasSubstr("generator 16 "))));
}

// Tests of a run with one generator and one discriminator.
class ProgressWatchTest : public ::testing::Test {
 protected:
  ProgressWatchTest() { Use(absl::Seconds(30)); }

  void Use(std::optional<absl::Duration> timeout) {
    watch_.emplace(
        ProgressWatch::Options{.rounds = kRounds, .timeout = timeout});
    watch_->BeginEpoch(now_);
  }
  // Advances the clock by `seconds`, checking each second.
  std::optional<ProgressWatch::Stall> After(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      now_ += absl::Seconds(1);
      auto stall = watch_->Judge(workers_, now_);
      if (stall.has_value()) return stall;
    }
    return std::nullopt;
  }
  // Completes a round of both workers; the generator's takes `seconds`.
  void DoRound(int seconds) {
    ASSERT_FALSE(After(seconds - 1).has_value());
    ++workers_[0].completed_rounds;
    ++workers_[1].completed_rounds;
    ASSERT_FALSE(After(1).has_value());
  }

  absl::Time now_ = absl::UnixEpoch();
  std::vector<ProgressWatch::Worker> workers_ = {
      Waits(kG0, WorkerPosition::WEIGHTS, DISCRIMINATOR, 0), Computes(kD0)};
  std::optional<ProgressWatch> watch_;
};

TEST_F(ProgressWatchTest, ARunWithoutProgressIsReported) {
  DoRound(2);
  EXPECT_FALSE(After(29).has_value());
  const auto stall = After(1);
  ASSERT_TRUE(stall.has_value());
  EXPECT_EQ(stall->suspect, kD0);
  EXPECT_THAT(stall->text,
              AllOf(HasSubstr("no worker has finished a round for 30 s"),
                    HasSubstr("control.progress_timeout_seconds"),
                    HasSubstr("generator 0 waits for weights of "
                              "discriminator 0 since 58 s"),
                    HasSubstr("discriminator 0 computes since 61 s")));
}

TEST_F(ProgressWatchTest, ProgressOfOneWorkerIsEnough) {
  DoRound(2);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(After(29).has_value());
    ++workers_[1].completed_rounds;
    EXPECT_FALSE(After(1).has_value());
  }
  EXPECT_TRUE(After(30).has_value());
}

TEST_F(ProgressWatchTest, ZeroDisablesTheWatch) {
  Use(absl::ZeroDuration());
  DoRound(2);
  EXPECT_FALSE(After(100'000).has_value());
}

TEST_F(ProgressWatchTest, TheLimitFollowsTheRoundTimes) {
  Use(std::nullopt);
  for (int i = 0; i < 5; ++i) DoRound(2);
  EXPECT_FALSE(After(59).has_value());
  EXPECT_TRUE(After(1).has_value());

  Use(std::nullopt);
  for (const int seconds : {2, 10, 2}) DoRound(seconds);
  EXPECT_FALSE(After(199).has_value());  // 20 times the longest round
  EXPECT_TRUE(After(1).has_value());

  Use(std::nullopt);
  DoRound(2);
  DoRound(10);
  for (int i = 0; i < 20; ++i) DoRound(4);
  EXPECT_FALSE(After(79).has_value());
  EXPECT_TRUE(After(1).has_value());
}

TEST_F(ProgressWatchTest, TheFirstRoundOfAnEpochMayTakeLong) {
  EXPECT_FALSE(After(299).has_value());
  EXPECT_TRUE(After(1).has_value());
  watch_->BeginEpoch(now_);
  EXPECT_FALSE(After(250).has_value());
  ++workers_[1].completed_rounds;
  EXPECT_FALSE(After(299).has_value());
  ++workers_[0].completed_rounds;
  EXPECT_FALSE(After(30).has_value());
  EXPECT_TRUE(After(1).has_value());
}

TEST_F(ProgressWatchTest, ASlowStartDoesNotExtendTheLimit) {
  Use(std::nullopt);
  DoRound(500);
  DoRound(2);
  EXPECT_FALSE(After(59).has_value());
  EXPECT_TRUE(After(1).has_value());
}

// Only a completed round resets the time used up by the wait.
TEST_F(ProgressWatchTest, AWaitForACheckpointMayTakeLong) {
  DoRound(2);
  workers_[1].position.set_wait(WorkerPosition::CHECKPOINT);
  EXPECT_FALSE(After(150).has_value());  // half of the limit
  workers_[1].position.set_wait(WorkerPosition::NOTHING);
  EXPECT_FALSE(After(14).has_value());
  EXPECT_TRUE(After(2).has_value());
}

TEST_F(ProgressWatchTest, APausedRunIsNotStuck) {
  DoRound(2);
  workers_[0].position.set_wait(WorkerPosition::GATE);
  EXPECT_FALSE(After(10'000).has_value());
  workers_[0].position.set_wait(WorkerPosition::WEIGHTS);
  EXPECT_FALSE(After(29).has_value());
  EXPECT_TRUE(After(2).has_value());
}

TEST_F(ProgressWatchTest, AFinishedRunIsNotStuck) {
  DoRound(2);
  for (auto& worker : workers_) worker.completed_rounds = kRounds;
  EXPECT_FALSE(After(10'000).has_value());
}

TEST_F(ProgressWatchTest, TimeWithoutChecksDoesNotCount) {
  DoRound(2);
  EXPECT_FALSE(After(20).has_value());
  now_ += absl::Hours(1);
  watch_->Skip(now_);
  EXPECT_FALSE(After(9).has_value());
  const auto stall = After(1);
  ASSERT_TRUE(stall.has_value());
  EXPECT_THAT(stall->text, HasSubstr("for 30 s"));
}

}  // namespace
}  // namespace gandem
