// SPDX-License-Identifier: Apache-2.0
//
// Events on a full disk: some wait until it has room, others do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/control_plane/coordinator/coordinator_fixture.h"
#include "tests/testing/full_disk.h"

namespace gandem {
namespace {

using ::gandem::testing::FullDisk;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kTry = absl::Seconds(1);

class CoordinatorDiskTest : public ::gandem::testing::CoordinatorFixture {
 protected:
  void SetUp() override { StartRun(); }
  void TearDown() override { full_.reset(); }

  // Both shards are on disk, but the manifest does not fit.
  void ReportOnAFullDisk(int64_t step) {
    const ShardReport generator = WriteShard(generator_, step);
    const ShardReport discriminator = WriteShard(discriminator_, step);
    full_.emplace();
    ASSERT_OK(coordinator_->ReportShard(generator));
    ASSERT_OK_AND_ASSIGN(const ShardReply reply,
                         coordinator_->ReportShard(discriminator));
    EXPECT_FALSE(reply.committed());
  }
  std::vector<std::string> Checkpoints() {
    return *ListDirectory(run_dir_.path() + "/checkpoints");
  }

  std::optional<FullDisk> full_;
};

TEST_F(CoordinatorDiskTest, TheLastCheckpointIsRetried) {
  ReportOnAFullDisk(10);
  ASSERT_OK(SendFinished(generator_));
  ASSERT_OK(SendFinished(discriminator_));
  LetTimePass(absl::Seconds(5));
  EXPECT_FALSE(coordinator_->outcome().has_value());
  EXPECT_THAT(TakeEvents(),
              Contains(AllOf(HasSubstr("the last checkpoint, of 10 rounds"),
                             HasSubstr("Trying again for 30s")))
                  .Times(1));
  full_.reset();
  LetTimePass(kTry);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(State(), StatusReply::FINISHED);
  EXPECT_THAT(Checkpoints(), ElementsAre("step-000000010"));
}

TEST_F(CoordinatorDiskTest, TheLastCheckpointIsAbandonedAfterTheGrace) {
  ReportOnAFullDisk(10);
  ASSERT_OK(SendFinished(generator_));
  ASSERT_OK(SendFinished(discriminator_));
  LetTimePass(options_.epoch.grace - kTry);
  EXPECT_FALSE(coordinator_->outcome().has_value());
  LetTimePass(2 * kTry);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("the checkpoint of 10 rounds could not be written"));
  EXPECT_THAT(Checkpoints(), ElementsAre());
}

TEST_F(CoordinatorDiskTest, TheCheckpointOfAStopIsRetried) {
  coordinator_->RequestStop("Ctrl-C");
  ASSERT_OK(SendPaused(generator_, 3, 4));
  ASSERT_OK(SendPaused(discriminator_, 3, 4));
  ReportOnAFullDisk(4);
  LetTimePass(absl::Seconds(5));
  EXPECT_FALSE(coordinator_->outcome().has_value());
  full_.reset();
  LetTimePass(kTry);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->detail,
            "Ctrl-C. The newest checkpoint has 4 of 10 rounds");
}

TEST_F(CoordinatorDiskTest, ACheckpointThatOthersFollowIsAbandoned) {
  ReportOnAFullDisk(4);
  EXPECT_THAT(TakeEvents(),
              Contains(HasSubstr("of 4 rounds could not be written")));
  EXPECT_THAT(Checkpoints(), ElementsAre());
  full_.reset();
  CommitStep(6);
}

TEST_F(CoordinatorDiskTest, ARunEpochThatCannotBeginIsRetried) {
  CommitStep(4);
  full_.emplace();
  Exit(generator_, 137, "was killed by signal 9");
  LetTimePass(absl::Seconds(5));
  EXPECT_FALSE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->Status().run_epoch(), 1);
  EXPECT_THAT(TakeEvents(), Contains(AllOf(HasSubstr("cannot begin"),
                                           HasSubstr("Trying again for 30s")))
                                .Times(1));
  EXPECT_THAT(Register(discriminator_),
              StatusIs(absl::StatusCode::kUnavailable));
  full_.reset();
  LetTimePass(kTry);
  EXPECT_EQ(coordinator_->Status().run_epoch(), 2);
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  EXPECT_THAT(coordinator_->TakeWishes().start, ElementsAre(generator_.key));
}

TEST_F(CoordinatorDiskTest, TheRunEndsResumableAfterTheGrace) {
  CommitStep(4);
  full_.emplace();
  Exit(generator_, 137, "was killed by signal 9");
  LetTimePass(options_.epoch.grace + kTry);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
  EXPECT_THAT(coordinator_->outcome()->detail,
              AllOf(HasSubstr("cannot start a run epoch"),
                    HasSubstr("has 4 of 10 rounds")));
}

TEST_F(CoordinatorDiskTest, AStopDoesNotWaitForARunEpoch) {
  full_.emplace();
  Exit(generator_, 137, "was killed by signal 9");
  coordinator_->RequestStop("Ctrl-C");
  LetTimePass(2 * kTry);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
}

TEST_F(CoordinatorDiskTest, AFurtherDeathDoesNotEndTheRun) {
  full_.emplace();
  Exit(generator_, 137, "was killed by signal 9");
  Exit(discriminator_, 137, "was killed by signal 9");
  full_.reset();
  LetTimePass(kTry);
  EXPECT_EQ(coordinator_->Status().run_epoch(), 2);
  EXPECT_EQ(coordinator_->TakeWishes().start.size(), 2);
}

TEST_F(CoordinatorDiskTest, ARegisteringWorkerIsToldToRetry) {
  Exit(generator_, 137, "was killed by signal 9");
  Launch(generator_);
  full_.emplace();
  EXPECT_THAT(Register(generator_),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot write its counters")));
  full_.reset();
  EXPECT_OK(Register(generator_));
}

}  // namespace
}  // namespace gandem
