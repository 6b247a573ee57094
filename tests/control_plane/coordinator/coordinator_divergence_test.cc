// SPDX-License-Identifier: Apache-2.0
//
// A worker has non-finite numbers: the run ends, or rolls back to its newest
// checkpoint and continues with other noise.
#include <gmock/gmock.h>

#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "common/results/run_folder.h"
#include "tests/control_plane/coordinator/coordinator_fixture.h"

namespace gandem {
namespace {

using ::gandem::testing::kDiscriminator;
using ::gandem::testing::kGenerator;
using ::gandem::testing::PlayedWorker;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CoordinatorDivergenceTest : public ::gandem::testing::CoordinatorFixture {
 protected:
  void Diverge(const PlayedWorker& worker, int64_t round) {
    HeartbeatRequest request = Beat(worker, round, round);
    request.set_failure("has diverged: round 6: the loss is not finite");
    request.set_failure_exit_code(kExitDiverged);
    ASSERT_OK(coordinator_->Heartbeat(request));
  }
  // Both workers leave and register in the next epoch.
  RegisterReply StartAgain() {
    Exit(generator_, kExitDiverged, "exited with code 3");
    Exit(discriminator_, kExitResumable, "exited with code 75");
    EXPECT_THAT(coordinator_->TakeWishes().start,
                ElementsAre(kGenerator, kDiscriminator));
    Launch(generator_);
    Launch(discriminator_);
    const auto reply = Register(generator_);
    EXPECT_OK(reply);
    EXPECT_OK(Register(discriminator_));
    EXPECT_OK(Join(generator_));
    EXPECT_OK(Join(discriminator_));
    EXPECT_EQ(State(), StatusReply::RUNNING);
    return reply.ok() ? *reply : RegisterReply();
  }
  int64_t RollbacksOnDisk(int64_t step) {
    const auto manifest = ReadManifest(CheckpointPath(run_dir_.path(), step));
    EXPECT_OK(manifest);
    return manifest.ok() ? manifest->rollbacks() : -1;
  }
};

TEST_F(CoordinatorDivergenceTest, EndsTheRunAndNamesTheRemainingCheckpoint) {
  StartRun();
  CommitStep(4);
  Diverge(generator_, 6);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitDiverged);
  EXPECT_EQ(State(), StatusReply::FAILED);
  EXPECT_THAT(coordinator_->outcome()->detail,
              AllOf(HasSubstr("generator 0 has diverged: round 6: the loss"),
                    HasSubstr("The newest checkpoint has 4 of 10 rounds"),
                    HasSubstr("learning rate"), HasSubstr("ROLLBACK")));
  EXPECT_THAT(coordinator_->TakeWishes().start, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Send(discriminator_, 6, 6));
  EXPECT_TRUE(reply.leave());
}

TEST_F(CoordinatorDivergenceTest, MarksTheLastGoodCheckpoint) {
  StartRun();
  CommitStep(4);
  CommitStep(6);
  Diverge(generator_, 8);
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("checkpoints/last-good is that of step 6"));
  EXPECT_EQ(
      *ReadFile(run_dir_ / "checkpoints/last-good/manifest.textproto"),
      *ReadFile(CheckpointPath(run_dir_.path(), 6) + "/manifest.textproto"));
}

// Finite states may come from a run that had already gone wrong.
TEST_F(CoordinatorDivergenceTest,
       AHealthWarningDeterminesTheLastGoodCheckpoint) {
  options_.ends_on_health_warning = true;
  StartRun();
  CommitStep(4);
  CommitStep(6);
  HeartbeatRequest request = Beat(generator_, 8, 8);
  RoundMetrics& metrics = *request.add_metrics();
  metrics.set_role(GENERATOR);
  metrics.set_run_epoch(request.run_epoch());
  metrics.set_round(7);
  metrics.add_health()->set_since_round(5);
  ASSERT_OK(coordinator_->Heartbeat(request));
  EXPECT_EQ(coordinator_->outcome(), std::nullopt);  // the worker decides
  Diverge(generator_, 8);
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("checkpoints/last-good is that of step 4"));
}

TEST_F(CoordinatorDivergenceTest, RollsBackWithOtherNoise) {
  options_.epoch.max_rollbacks = 2;
  options_.epoch.restart_budget = 0;  // a rollback is not a restart
  StartRun();
  CommitStep(4);
  EXPECT_EQ(RollbacksOnDisk(4), 0);
  Diverge(generator_, 6);
  EXPECT_EQ(coordinator_->outcome(), std::nullopt);
  EXPECT_THAT(TakeEvents(), Contains(HasSubstr("rollback 1 of 2")));
  RegisterReply reply = StartAgain();
  EXPECT_EQ(reply.first_round(), 4);
  EXPECT_EQ(reply.rollbacks(), 1);
  CommitStep(8);
  EXPECT_EQ(RollbacksOnDisk(8), 1);
  Diverge(generator_, 9);
  reply = StartAgain();
  EXPECT_EQ(reply.first_round(), 8);
  EXPECT_EQ(reply.rollbacks(), 2);
  Diverge(generator_, 9);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitDiverged);
  EXPECT_THAT(
      coordinator_->outcome()->detail,
      AllOf(HasSubstr("after 2 rollbacks"), Not(HasSubstr("ROLLBACK"))));
}

TEST_F(CoordinatorDivergenceTest, DivergenceReportedByBothRolesCountsOnce) {
  options_.epoch.max_rollbacks = 2;
  StartRun();
  CommitStep(4);
  Diverge(generator_, 6);
  HeartbeatRequest request = Beat(discriminator_, 6, 6);
  request.set_failure("has diverged: round 6: the gradient");
  request.set_failure_exit_code(kExitDiverged);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       coordinator_->Heartbeat(request));
  EXPECT_TRUE(reply.epoch_superseded());
  Exit(discriminator_, kExitDiverged, "exited with code 3");
  EXPECT_EQ(coordinator_->outcome(), std::nullopt);
  Launch(discriminator_);
  EXPECT_EQ(StartAgain().rollbacks(), 1);
}

// A run that resumes there computes the same numbers.
TEST_F(CoordinatorDivergenceTest, ANewCoordinatorRemembersTheDivergence) {
  options_.epoch.max_rollbacks = 2;
  StartRun();
  CommitStep(4);
  Diverge(generator_, 6);
  StartAgain();
  Open();  // before any other checkpoint
  generator_ = {.key = kGenerator};
  discriminator_ = {.key = kDiscriminator};
  Launch(generator_);
  ASSERT_OK_AND_ASSIGN(RegisterReply reply, Register(generator_));
  EXPECT_EQ(reply.rollbacks(), 1);
  StartRun();
  CommitStep(8);
  Open();
  generator_ = {.key = kGenerator};
  Launch(generator_);
  ASSERT_OK_AND_ASSIGN(reply, Register(generator_));
  EXPECT_EQ(reply.first_round(), 8);
  EXPECT_EQ(reply.rollbacks(), 1);
  // The rounds before the checkpoint decide, not later ones.
  coordinator_.reset();
  ASSERT_OK(RemoveAll(CheckpointPath(run_dir_.path(), 8)));
  ASSERT_OK(RunFolder(run_dir_.path()).WriteCounters([] {
    RunCounters counters;
    counters.set_run_epoch(50);
    counters.set_incarnation(50);
    counters.set_first_round(8);
    counters.set_rollbacks(2);
    return counters;
  }()));
  Open();
  generator_ = {.key = kGenerator};
  Launch(generator_);
  ASSERT_OK_AND_ASSIGN(reply, Register(generator_));
  EXPECT_EQ(reply.first_round(), 4);
  EXPECT_EQ(reply.rollbacks(), 0);
}

TEST_F(CoordinatorDivergenceTest, WithoutACheckpointTheRunStartsOver) {
  options_.epoch.max_rollbacks = 1;
  StartRun();
  Diverge(generator_, 6);
  const RegisterReply reply = StartAgain();
  EXPECT_EQ(reply.resume_from(), "");
  EXPECT_EQ(reply.rollbacks(), 1);
}

TEST_F(CoordinatorDivergenceTest, ARunThatIsStoppingDoesNotRollBack) {
  options_.epoch.max_rollbacks = 1;
  StartRun();
  coordinator_->RequestStop("Ctrl-C");
  Diverge(generator_, 6);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitDiverged);
}

}  // namespace
}  // namespace gandem
