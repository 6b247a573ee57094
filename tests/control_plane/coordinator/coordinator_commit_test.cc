// SPDX-License-Identifier: Apache-2.0
//
// Tests events during the commit of a checkpoint.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/thread.h"
#include "tests/control_plane/coordinator/coordinator_fixture.h"
#include "tests/testing/eventually.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::Contains;
using ::testing::IsEmpty;

// Step 4 is being committed. Its folder exists, as after a damaged checkpoint,
// with a pipe as manifest. The commit reads the pipe until the test closes it.
class CoordinatorCommitTest : public ::gandem::testing::CoordinatorFixture {
 protected:
  void SetUp() override {
    StartRun();
    const std::string folder = CheckpointPath(run_dir_.path(), 4);
    const std::string manifest = folder + "/" + kManifestName;
    ASSERT_OK(CreateDirectories(folder));
    // A named pipe would be rejected.
    ASSERT_EQ(pipe2(pipe_, O_CLOEXEC), 0);
    const std::string end = absl::StrCat("/proc/self/fd/", pipe_[0]);
    ASSERT_EQ(symlink(end.c_str(), manifest.c_str()), 0);
    ASSERT_EQ(write(pipe_[1], "\n", 1), 1);
    ASSERT_OK(Report(generator_, 4));
    last_report_ = WriteShard(discriminator_, 4);
    committing_.emplace("commit", [this] {
      const auto reply = coordinator_->ReportShard(last_report_);
      EXPECT_OK(reply);
      EXPECT_TRUE(reply.ok() && reply->committed());
    });
    ASSERT_TRUE(gandem::testing::Eventually([this] {  // the pipe is being read
      int unread = 1;
      return ioctl(pipe_[0], FIONREAD, &unread) == 0 && unread == 0;
    }));
  }
  void TearDown() override { EndCommit(); }
  void EndCommit() {
    if (pipe_[1] >= 0) close(std::exchange(pipe_[1], -1));
    committing_.reset();
    if (pipe_[0] >= 0) close(std::exchange(pipe_[0], -1));
  }

  ShardReport last_report_;
  int pipe_[2] = {-1, -1};
  std::optional<Thread> committing_;
};

TEST_F(CoordinatorCommitTest, OtherCallsAreAnswered) {
  ASSERT_OK_AND_ASSIGN(HeartbeatReply reply, Send(generator_, 5, 5));
  EXPECT_EQ(reply.committed_step(), 0);
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EndCommit();
  ASSERT_OK_AND_ASSIGN(reply, Send(generator_, 5, 5));
  EXPECT_EQ(reply.committed_step(), 4);
}

TEST_F(CoordinatorCommitTest, RepeatedReportsDoNotCommitAgain) {
  ASSERT_OK_AND_ASSIGN(const ShardReply reply,
                       coordinator_->ReportShard(last_report_));
  EXPECT_FALSE(reply.committed());
  EndCommit();
  EXPECT_THAT(TakeEvents(), Contains("checkpoint of 4 rounds is complete"));
  ASSERT_OK_AND_ASSIGN(const ShardReply again,
                       coordinator_->ReportShard(last_report_));
  EXPECT_TRUE(again.committed());
  EXPECT_THAT(TakeEvents(), IsEmpty());
}

TEST_F(CoordinatorCommitTest, TheNextCheckpointFollowsTheCommit) {
  ASSERT_OK(Report(generator_, 6));
  ASSERT_OK_AND_ASSIGN(const ShardReply reply, Report(discriminator_, 6));
  EXPECT_FALSE(reply.committed());
  EndCommit();
  EXPECT_EQ(coordinator_->Status().last_checkpoint_step(), 6);
}

TEST_F(CoordinatorCommitTest, DeathsWaitForTheCommit) {
  Exit(generator_, 137, "was killed by signal 9");
  EXPECT_EQ(coordinator_->Status().run_epoch(), 1);
  EXPECT_THAT(coordinator_->TakeWishes().start, IsEmpty());
  EndCommit();
  EXPECT_EQ(coordinator_->Status().run_epoch(), 2);
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  // The next epoch starts from the new checkpoint.
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(discriminator_));
  EXPECT_EQ(reply.first_round(), 4);
}

TEST_F(CoordinatorCommitTest, FailureAndExitAreOneDeath) {
  HeartbeatRequest request = Beat(generator_, 5, 5);
  request.set_failure("INTERNAL: broken");
  request.set_failure_exit_code(kExitInternal);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       coordinator_->Heartbeat(request));
  EXPECT_TRUE(reply.leave());
  Exit(generator_, kExitInternal, "exited with code 70");
  EndCommit();
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  EXPECT_EQ(coordinator_->Status().run_epoch(), 2);
}

TEST_F(CoordinatorCommitTest, WorkersAreNotSilentDuringTheCommit) {
  LetTimePass(absl::Seconds(70));
  EXPECT_EQ(State(), StatusReply::RUNNING);
  ASSERT_OK(Send(generator_, 5, 5));
  EndCommit();
  LetTimePass(absl::Seconds(1));
  EXPECT_THAT(coordinator_->Status().detail(),
              ::testing::HasSubstr("discriminator 0 was silent"));
}

TEST_F(CoordinatorCommitTest, RegisteringWorkersAreToldToTryAgain) {
  EXPECT_THAT(Register(generator_), StatusIs(absl::StatusCode::kUnavailable));
  EndCommit();
  EXPECT_OK(Register(generator_));
}

TEST_F(CoordinatorCommitTest, StopEndsWithTheCommit) {
  coordinator_->RequestStop("Ctrl-C");
  ASSERT_OK(SendPaused(generator_, 3, 4));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       SendPaused(discriminator_, 3, 4));
  EXPECT_EQ(reply.cut(), 3);
  EXPECT_FALSE(reply.leave());
  EXPECT_FALSE(coordinator_->outcome().has_value());
  EndCommit();
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->detail,
            "Ctrl-C. The newest checkpoint has 4 of 10 rounds");
}

// The disk may never answer.
TEST_F(CoordinatorCommitTest, StopWaitsForTheCommitForTwoGracePeriodsAtMost) {
  coordinator_->RequestStop("Ctrl-C");
  ASSERT_OK(SendPaused(generator_, 3, 4));
  ASSERT_OK(SendPaused(discriminator_, 3, 4));
  LetTimePass(2 * options_.epoch.grace);
  EXPECT_FALSE(coordinator_->outcome().has_value());
  LetTimePass(absl::Seconds(1));
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
  EXPECT_THAT(coordinator_->outcome()->detail,
              ::testing::HasSubstr("within 30s (control.grace_seconds)"));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Send(generator_, 4, 4));
  EXPECT_TRUE(reply.leave());
}

TEST_F(CoordinatorCommitTest, FinishedRunsWaitForTheCommit) {
  ASSERT_OK(SendFinished(generator_));
  ASSERT_OK(SendFinished(discriminator_));
  EXPECT_FALSE(coordinator_->outcome().has_value());
  EndCommit();
  // The workers have not reported the last checkpoint.
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(State(), StatusReply::FAILED);
}

}  // namespace
}  // namespace gandem
