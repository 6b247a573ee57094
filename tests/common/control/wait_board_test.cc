// SPDX-License-Identifier: Apache-2.0
#include "common/control/wait_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/fake_clock.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WaitBoardTest : public ::testing::Test {
 protected:
  void LetPass(double seconds) { clock_.Advance(absl::Seconds(seconds)); }
  // Completes a round of `seconds` without waits.
  void DoRound(double seconds, int64_t next_round) {
    LetPass(seconds);
    board_.EndRound(next_round);
  }
  void WaitForFeedback() {
    board_.Begin(WorkerPosition::FEEDBACK, DISCRIMINATOR);
    board_.NameRank(1);
  }

  testing::FakeClock clock_;
  WaitBoard board_{/*first_round=*/3, &clock_};
};

TEST_F(WaitBoardTest, ShowsTheCurrentActivityAndItsStart) {
  LetPass(2);
  WorkerPosition position = board_.Position();
  EXPECT_EQ(position.wait(), WorkerPosition::NOTHING);
  EXPECT_EQ(position.round(), 3);
  EXPECT_EQ(position.seconds(), 2);
  WaitForFeedback();
  LetPass(4);
  position = board_.Position();
  EXPECT_EQ(position.wait(), WorkerPosition::FEEDBACK);
  EXPECT_EQ(position.whom(), DISCRIMINATOR);
  EXPECT_EQ(position.rank(), 1);
  EXPECT_EQ(position.seconds(), 4);
  board_.End();
  LetPass(1);
  position = board_.Position();
  EXPECT_EQ(position.wait(), WorkerPosition::NOTHING);
  EXPECT_EQ(position.whom(), ROLE_UNKNOWN);
  EXPECT_EQ(position.rank(), -1);
  EXPECT_EQ(position.seconds(), 1);
  board_.EndRound(4);
  EXPECT_EQ(board_.Position().round(), 4);
}

TEST_F(WaitBoardTest, RepeatedWaitsForOneThingAreOneWait) {
  for (int i = 0; i < 4; ++i) {
    WaitForFeedback();
    LetPass(1);
  }
  EXPECT_EQ(board_.Position().seconds(), 4);
  board_.Begin(WorkerPosition::IMAGES, GENERATOR);
  EXPECT_EQ(board_.Position().seconds(), 0);
  EXPECT_EQ(board_.Position().rank(), -1);
}

TEST_F(WaitBoardTest, LongWaitsAreNamedAtGrowingIntervals) {
  WaitForFeedback();
  LetPass(4.9);
  EXPECT_THAT(board_.Notice(), IsEmpty());
  LetPass(0.1);
  EXPECT_EQ(board_.Notice(),
            "waits for feedback of discriminator 1 since 5 s, in round 3");
  LetPass(4.9);
  EXPECT_THAT(board_.Notice(), IsEmpty());
  LetPass(0.1);
  EXPECT_THAT(board_.Notice(), HasSubstr("since 10 s"));
  LetPass(9.9);
  EXPECT_THAT(board_.Notice(), IsEmpty());
  LetPass(0.1);
  EXPECT_THAT(board_.Notice(), HasSubstr("since 20 s"));
}

TEST_F(WaitBoardTest, TheEndOfANamedWaitIsLoggedOnce) {
  WaitForFeedback();
  LetPass(7);
  EXPECT_THAT(board_.Notice(), HasSubstr("since 7 s"));
  LetPass(1);
  board_.End();
  EXPECT_THAT(board_.Notice(),
              AllOf(HasSubstr("goes on"), HasSubstr("took 8 s"),
                    HasSubstr("waits for feedback of discriminator 1")));
  EXPECT_THAT(board_.Notice(), IsEmpty());
  WaitForFeedback();
  LetPass(1);
  board_.End();
  EXPECT_THAT(board_.Notice(), IsEmpty());
}

// Only the fleet knows of waits in sync batch norm.
TEST_F(WaitBoardTest, AnObservedWaitIsNamedWithItsRank) {
  LetPass(30);
  board_.Observe(GENERATOR, -1);
  EXPECT_EQ(board_.Position().wait(), WorkerPosition::NOTHING);
  EXPECT_EQ(board_.Position().seconds(), 30);
  board_.Observe(GENERATOR, 2);
  LetPass(4.9);
  board_.Observe(GENERATOR, 1);
  EXPECT_THAT(board_.Notice(), IsEmpty());
  LetPass(0.1);
  EXPECT_EQ(board_.Notice(),
            "waits for gradients of generator 1 since 5 s, in round 3");
  const WorkerPosition position = board_.Position();
  EXPECT_EQ(position.wait(), WorkerPosition::GRADIENTS);
  EXPECT_EQ(position.whom(), GENERATOR);
  EXPECT_EQ(position.rank(), 1);
  EXPECT_EQ(position.seconds(), 5);
  LetPass(1);
  board_.Observe(GENERATOR, -1);
  EXPECT_EQ(board_.Notice(),
            "goes on; \"waits for gradients of generator 1\" took 6 s");
  EXPECT_EQ(board_.Position().wait(), WorkerPosition::NOTHING);
}

// Reports of the compute thread are exact and take precedence.
TEST_F(WaitBoardTest, ObservationsDoNotReplaceRecordedWaits) {
  WaitForFeedback();
  LetPass(3);
  board_.Observe(DISCRIMINATOR, 0);
  EXPECT_EQ(board_.Position().wait(), WorkerPosition::FEEDBACK);
  EXPECT_EQ(board_.Position().rank(), 1);
  EXPECT_EQ(board_.Position().seconds(), 3);
  board_.Begin(WorkerPosition::GRADIENTS, GENERATOR);
  board_.Observe(GENERATOR, 1);
  EXPECT_EQ(board_.Position().rank(), 1);
  LetPass(2);
  board_.Observe(GENERATOR, -1);
  EXPECT_EQ(board_.Position().wait(), WorkerPosition::GRADIENTS);
  EXPECT_EQ(board_.Position().rank(), -1);
  EXPECT_EQ(board_.Position().seconds(), 2);
}

// A wait that occurs in every round would be logged each time.
TEST_F(WaitBoardTest, AWaitIsReportedAfterTwiceTheTimeOfARound) {
  DoRound(10, 4);
  WaitForFeedback();
  LetPass(19);
  EXPECT_THAT(board_.Notice(), IsEmpty());
  LetPass(1);
  EXPECT_THAT(board_.Notice(), HasSubstr("since 20 s, in round 4"));
}

TEST_F(WaitBoardTest, AnOperationMayTakeLonger) {
  LetPass(59);
  EXPECT_THAT(board_.Notice(), IsEmpty());
  LetPass(1);
  EXPECT_EQ(board_.Notice(), "computes since 60 s, in round 3");
  board_.EndRound(4);  // a round of 60 s
  EXPECT_THAT(board_.Notice(), HasSubstr("\"computes\" took 60 s"));
  LetPass(599);
  EXPECT_THAT(board_.Notice(), IsEmpty());
  LetPass(1);
  EXPECT_THAT(board_.Notice(), HasSubstr("computes since 600 s"));
}

}  // namespace
}  // namespace gandem
