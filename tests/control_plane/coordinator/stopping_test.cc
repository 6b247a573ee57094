// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/stopping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::HasSubstr;

class StoppingTest : public ::testing::Test {
 protected:
  StoppingTest() { commits_.BeginEpoch(1, /*num_workers=*/1, 0); }
  // Reports a checkpoint that was committed or abandoned.
  void Settle(int64_t step, const absl::Status& done = absl::OkStatus()) {
    ShardReport report;
    report.set_step(step);
    report.add_files()->set_name("f");
    ASSERT_OK(commits_.Add(0, report));
    commits_.Settle(*commits_.Take(absl::UnixEpoch()), done);
  }
  void SetPaused(int place, int64_t started_round) {
    places_[place].progress.set_paused(true);
    places_[place].progress.set_started_round(started_round);
  }
  void SetFinished(int place) {
    places_[place].progress.set_started_round(9);
    places_[place].progress.set_finished(true);
  }

  std::vector<Place> places_ = std::vector<Place>(2);
  CheckpointCommits commits_{10};
  Stopping stopping_{{.rounds = 10, .grace = absl::Seconds(30)}};
};

TEST_F(StoppingTest, CutIsTheLastRoundThatAnyMemberHasStarted) {
  SetPaused(0, 6);
  EXPECT_FALSE(stopping_.DecideCut(places_));
  EXPECT_EQ(stopping_.cut(), std::nullopt);
  SetPaused(1, 4);
  EXPECT_TRUE(stopping_.DecideCut(places_));
  EXPECT_EQ(stopping_.cut(), 6);
  SetPaused(1, 8);
  EXPECT_FALSE(stopping_.DecideCut(places_));  // decided once
  EXPECT_EQ(stopping_.cut(), 6);
}

TEST_F(StoppingTest, OnlyMembersDetermineTheCut) {
  SetPaused(0, 3);
  places_[1].is_member = false;
  EXPECT_TRUE(stopping_.DecideCut(places_));
  EXPECT_EQ(stopping_.cut(), 3);
}

TEST_F(StoppingTest, CutIsWhereACheckpointCanBeTaken) {
  for (const auto& [started, cut] : std::vector<std::pair<int64_t, int64_t>>{
           {-1, -1}, {0, 3}, {3, 3}, {4, 7}}) {
    Stopping stopping({.rounds = 12, .rounds_to_agreement = 4});
    SetPaused(0, -1);
    SetPaused(1, started);
    EXPECT_TRUE(stopping.DecideCut(places_));
    EXPECT_EQ(stopping.cut(), cut) << started;
  }
}

TEST_F(StoppingTest, GraceStartsWithTheFirstRequest) {
  const absl::Time start = absl::UnixEpoch();
  EXPECT_FALSE(stopping_.IsLate(absl::InfiniteFuture()));
  stopping_.Request("a", /*begins=*/false, start);
  stopping_.Request("b", /*begins=*/false, start + absl::Seconds(20));
  EXPECT_FALSE(stopping_.IsLate(start + absl::Seconds(30)));
  EXPECT_TRUE(stopping_.IsLate(start + absl::Seconds(31)));
  // The run could not stop earlier.
  stopping_.Request("b", /*begins=*/true, start + absl::Seconds(31));
  EXPECT_FALSE(stopping_.IsLate(start + absl::Seconds(61)));
  EXPECT_EQ(stopping_.reason(), "b");
}

TEST_F(StoppingTest, RunsFinishWithTheirLastCheckpoint) {
  Settle(10);
  SetFinished(0);
  EXPECT_FALSE(stopping_.Judge(places_, commits_).has_value());
  SetFinished(1);
  const auto outcome = stopping_.Judge(places_, commits_);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->state, StatusReply::FINISHED);
  EXPECT_EQ(outcome->exit_code, kExitOk);
}

TEST_F(StoppingTest, RunsWithoutTheirLastCheckpointHaveFailed) {
  SetFinished(0);
  SetFinished(1);
  const auto outcome = stopping_.Judge(places_, commits_);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->state, StatusReply::FAILED);
  EXPECT_THAT(outcome->detail, HasSubstr("of 10 rounds is incomplete"));
}

TEST_F(StoppingTest, StopEndsWithTheCheckpointOfItsCut) {
  stopping_.Request("Ctrl-C", /*begins=*/true, absl::UnixEpoch());
  SetPaused(0, 3);
  SetPaused(1, 3);
  ASSERT_TRUE(stopping_.DecideCut(places_));
  EXPECT_FALSE(stopping_.Judge(places_, commits_).has_value());
  Settle(4);
  const auto outcome = stopping_.Judge(places_, commits_);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->state, StatusReply::STOPPED);
  EXPECT_EQ(outcome->exit_code, kExitResumable);
  EXPECT_EQ(outcome->detail,
            "Ctrl-C. The newest checkpoint has 4 of 10 rounds");
}

TEST_F(StoppingTest, AbandonedCheckpointOfTheCutEndsTheStop) {
  stopping_.Request("Ctrl-C", /*begins=*/true, absl::UnixEpoch());
  SetPaused(0, 3);
  SetPaused(1, 3);
  ASSERT_TRUE(stopping_.DecideCut(places_));
  Settle(4, absl::DataLossError("disk full"));
  stopping_.NoteFailure("disk full");
  const auto outcome = stopping_.Judge(places_, commits_);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->exit_code, kExitResumable);
  EXPECT_EQ(outcome->detail, "disk full. There is no checkpoint yet");
}

TEST_F(StoppingTest, GraceIsLimited) {
  const absl::Time start = absl::UnixEpoch();
  stopping_.Request("Ctrl-C", /*begins=*/true, start);
  const absl::Time end = start + Stopping::Options().grace;
  EXPECT_FALSE(stopping_.IsLate(end));
  EXPECT_TRUE(stopping_.IsLate(end + absl::Seconds(1)));
}

TEST_F(StoppingTest, FirstOutcomeStays) {
  stopping_.NoteFailure("a worker died");
  EXPECT_EQ(stopping_.Detail(), "a worker died");
  stopping_.End({StatusReply::FAILED, kExitInternal, "first"});
  stopping_.End(FinishedOutcome(10));
  EXPECT_EQ(stopping_.outcome()->exit_code, kExitInternal);
  EXPECT_EQ(stopping_.Detail(), "first");
}

}  // namespace
}  // namespace gandem
