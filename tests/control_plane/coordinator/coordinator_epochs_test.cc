// SPDX-License-Identifier: Apache-2.0
//
// Deaths, restarts, superseded processes, and a new coordinator.
#include <gmock/gmock.h>

#include "common/process/thread.h"
#include "tests/control_plane/coordinator/coordinator_fixture.h"

namespace gandem {
namespace {

using ::gandem::testing::kDiscriminator;
using ::gandem::testing::kGenerator;
using ::gandem::testing::PlayedWorker;
using ::gandem::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CoordinatorEpochsTest : public ::gandem::testing::CoordinatorFixture {
 protected:
  // Kills the generator and registers both workers again.
  void Restart() {
    Exit(generator_, 139, "was killed by signal 11");
    Launch(generator_);
    ASSERT_OK(Register(generator_));
    ASSERT_OK(Register(discriminator_));
    ASSERT_OK(Join(generator_));
    ASSERT_OK(Join(discriminator_));
    ASSERT_EQ(State(), StatusReply::RUNNING);
  }
};

TEST_F(CoordinatorEpochsTest, ADeathStartsANewEpochFromTheNewestCheckpoint) {
  StartRun();
  CommitStep(4);
  ASSERT_OK(Send(discriminator_, 6, 6));
  Exit(generator_, 137, "was killed by signal 9");
  EXPECT_THAT(coordinator_->TakeWishes().start, ElementsAre(kGenerator));
  EXPECT_EQ(State(), StatusReply::STARTING);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Send(discriminator_, 6, 6));
  EXPECT_TRUE(reply.epoch_superseded());
  EXPECT_FALSE(reply.pause());
  const int64_t old_incarnation = discriminator_.incarnation;
  ASSERT_OK_AND_ASSIGN(const RegisterReply registered,
                       Register(discriminator_));
  EXPECT_EQ(registered.run_epoch(), 2);
  EXPECT_EQ(registered.first_round(), 4);
  EXPECT_THAT(registered.resume_from(), HasSubstr("checkpoints/step-"));
  EXPECT_NE(registered.incarnation(), old_incarnation);
  Launch(generator_);
  ASSERT_OK(Register(generator_));
  ASSERT_OK(Join(generator_));
  ASSERT_OK_AND_ASSIGN(const JoinReply joined, Join(discriminator_));
  EXPECT_TRUE(joined.all_joined());
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
}

TEST_F(CoordinatorEpochsTest, ReportsOfTheOldEpochAreIgnored) {
  StartRun();
  ASSERT_OK(Report(generator_, 4));
  const PlayedWorker old = discriminator_;
  Exit(generator_, 137, "was killed by signal 9");
  EXPECT_FALSE(PathExists(PendingCheckpointPath(run_dir_.path(), 4, 1)));
  ASSERT_OK_AND_ASSIGN(const ShardReply reply, Report(old, 4));
  EXPECT_TRUE(reply.epoch_superseded());
  EXPECT_FALSE(reply.committed());
  ASSERT_OK_AND_ASSIGN(const JoinReply joined, Join(old));
  EXPECT_TRUE(joined.epoch_superseded());
  ASSERT_OK(Register(discriminator_));
  EXPECT_THAT(Send(old, 3, 3), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(CoordinatorEpochsTest, ASupersededProcessIsRefused) {
  StartRun();
  const PlayedWorker zombie = generator_;
  Restart();
  EXPECT_THAT(Send(zombie, 5, 5),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Report(zombie, 4),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(coordinator_->Register(Registration(zombie)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EXPECT_THAT(
      TakeEvents(),
      Contains(HasSubstr("declared dead or replaced is back")).Times(1));
}

TEST_F(CoordinatorEpochsTest, ASilentWorkerIsDeclaredDead) {
  StartRun();
  for (int second = 0; second < 60; ++second) {
    ASSERT_OK(Send(generator_, 0, 0));
    LetTimePass(absl::Seconds(1));
  }
  EXPECT_EQ(State(), StatusReply::RUNNING);
  ASSERT_OK(Send(generator_, 0, 0));
  LetTimePass(absl::Seconds(1));
  EXPECT_EQ(State(), StatusReply::STARTING);
  EXPECT_THAT(coordinator_->Status().detail(),
              HasSubstr("discriminator 0 was silent for more than 1m"));
  // The silent process may still run; it must end before the next one starts.
  const Coordinator::Wishes wishes = coordinator_->TakeWishes();
  EXPECT_THAT(wishes.kill, ElementsAre(kDiscriminator));
  EXPECT_THAT(wishes.start, IsEmpty());
  EXPECT_THAT(Send(discriminator_, 0, 0),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  Exit(discriminator_, 137, "was killed by signal 9");
  EXPECT_THAT(coordinator_->TakeWishes().start, ElementsAre(kDiscriminator));
  EXPECT_EQ(coordinator_->Status().restarts(), 1);  // one death, not two
}

TEST_F(CoordinatorEpochsTest, ASleepOfTheCoordinatorIsNotASilenceOfTheWorkers) {
  StartRun();
  Tick();
  clock_.Advance(absl::Hours(2));  // suspended
  coordinator_->Tick();
  EXPECT_EQ(State(), StatusReply::RUNNING);
  LetTimePass(absl::Seconds(59));
  EXPECT_EQ(State(), StatusReply::RUNNING);
  LetTimePass(absl::Seconds(2));
  EXPECT_EQ(State(), StatusReply::STARTING);
}

TEST_F(CoordinatorEpochsTest, AShortSleepMayExceedAShortTimeout) {
  options_.epoch.heartbeat_timeout = absl::Seconds(2);
  StartRun();
  Tick();
  clock_.Advance(absl::Seconds(3));  // stopped
  coordinator_->Tick();
  EXPECT_EQ(State(), StatusReply::RUNNING);
  clock_.Advance(absl::Milliseconds(999));
  coordinator_->Tick();
  EXPECT_EQ(State(), StatusReply::RUNNING);
  clock_.Advance(absl::Milliseconds(999));
  coordinator_->Tick();
  EXPECT_EQ(State(), StatusReply::RUNNING);
  clock_.Advance(absl::Milliseconds(3));
  coordinator_->Tick();
  EXPECT_EQ(State(), StatusReply::STARTING);
}

TEST_F(CoordinatorEpochsTest, AReportedFailureCountsAsOneDeath) {
  StartRun();
  HeartbeatRequest request = Beat(generator_, 3, 3);
  request.set_failure("INTERNAL: broken");
  request.set_failure_exit_code(kExitInternal);
  ASSERT_OK(coordinator_->Heartbeat(request));
  EXPECT_EQ(State(), StatusReply::STARTING);
  EXPECT_THAT(coordinator_->Status().detail(),
              HasSubstr("generator 0 INTERNAL: broken"));
  EXPECT_THAT(coordinator_->TakeWishes().kill, IsEmpty());  // exits by itself
  Exit(generator_, kExitInternal, "exited with code 70");
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  EXPECT_EQ(coordinator_->Status().run_epoch(), 2);
}

// The restarted peer refused the worker before the coordinator told it.
TEST_F(CoordinatorEpochsTest, AFailureOfAnOldEpochIsNotCounted) {
  options_.epoch.external = true;
  StartRun();
  CommitStep(4);
  ASSERT_OK(Register(discriminator_));  // started by hand, in mid-run
  ASSERT_EQ(coordinator_->Status().run_epoch(), 2);
  HeartbeatRequest request = Beat(generator_, 6, 6);
  request.set_failure("FAILED_PRECONDITION: run epoch 1 is over, this is 2");
  request.set_failure_exit_code(kExitUsage);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       coordinator_->Heartbeat(request));
  EXPECT_TRUE(reply.epoch_superseded());
  EXPECT_FALSE(reply.leave());
  EXPECT_FALSE(coordinator_->outcome().has_value());
  ASSERT_OK_AND_ASSIGN(const RegisterReply registered, Register(generator_));
  EXPECT_EQ(registered.first_round(), 4);
  ASSERT_OK(Join(generator_));
  ASSERT_OK(Join(discriminator_));
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
}

TEST_F(CoordinatorEpochsTest, AFailedWorkerThatDoesNotExitIsKilled) {
  StartRun();
  HeartbeatRequest request = Beat(generator_, 3, 3);
  request.set_failure("INTERNAL: broken");
  request.set_failure_exit_code(kExitInternal);
  ASSERT_OK(coordinator_->Heartbeat(request));
  LetTimePass(absl::Seconds(5));
  EXPECT_THAT(coordinator_->TakeWishes().kill, ElementsAre(kGenerator));
  EXPECT_THAT(coordinator_->TakeWishes().kill, IsEmpty());  // asked once only
}

TEST_F(CoordinatorEpochsTest, AUsageErrorIsNeverRestarted) {
  StartRun();
  HeartbeatRequest request = Beat(generator_, -1, 0);
  request.set_failure("INVALID_ARGUMENT: generator.device: no CUDA here");
  request.set_failure_exit_code(kExitUsage);
  ASSERT_OK(coordinator_->Heartbeat(request));
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitUsage);
  EXPECT_THAT(coordinator_->outcome()->detail, HasSubstr("no CUDA here"));
  EXPECT_THAT(coordinator_->TakeWishes().start, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Send(discriminator_, 0, 0));
  EXPECT_TRUE(reply.leave());
}

TEST_F(CoordinatorEpochsTest, AUsageErrorOfAnUnregisteredProcessCounts) {
  Open();
  Launch(generator_);
  Exit(generator_, kExitUsage, "exited with code 2");
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitUsage);
}

TEST_F(CoordinatorEpochsTest, APersistentlyUnreadableFolderIsAUsageError) {
  options_.epoch.restart_budget = 1;
  StartRun();
  Restart();
  Exit(generator_, kExitDamaged, "exited with code 74");
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitUsage);
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("the budget of 1 restarts is used up"));
}

TEST_F(CoordinatorEpochsTest, RestartsHaveABudget) {
  options_.epoch.restart_budget = 2;
  StartRun();
  Restart();
  Restart();
  EXPECT_EQ(coordinator_->outcome(), std::nullopt);
  Exit(generator_, 139, "was killed by signal 11");
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitInternal);
  EXPECT_EQ(State(), StatusReply::FAILED);
  EXPECT_THAT(coordinator_->outcome()->detail,
              AllOf(HasSubstr("signal 11"), HasSubstr("2 restarts")));
}

TEST_F(CoordinatorEpochsTest, ACrashLoopIsSlowedDown) {
  StartRun();
  Exit(generator_, 139, "was killed by signal 11");
  EXPECT_THAT(coordinator_->TakeWishes().start, ElementsAre(kGenerator));
  for (const int seconds : {1, 2, 4, 8}) {
    TakeEvents();
    Launch(generator_);
    Exit(generator_, 139, "was killed by signal 11");
    EXPECT_THAT(TakeEvents(),
                ::testing::Contains(HasSubstr("generator 0 has died again")));
    LetTimePass(0.9 * absl::Seconds(seconds));
    EXPECT_THAT(coordinator_->TakeWishes().start, IsEmpty());
    LetTimePass(0.1 * absl::Seconds(seconds));
    EXPECT_THAT(coordinator_->TakeWishes().start, ElementsAre(kGenerator));
  }
  EXPECT_EQ(coordinator_->outcome(), std::nullopt);
}

TEST_F(CoordinatorEpochsTest, AWorkerThatWaitsForItsRestartIsNotLate) {
  options_.epoch.join_timeout = absl::Seconds(20);
  options_.epoch.restart_budget = 20;
  StartRun();
  Tick();
  for (int i = 0; i < 8; ++i) {
    Exit(generator_, 139, "was killed by signal 11");
    int seconds = 0;
    while (coordinator_->TakeWishes().start.empty()) {
      ASSERT_LE(++seconds, 10);
      LetTimePass(absl::Seconds(1));
    }
    Launch(generator_);
  }
  EXPECT_EQ(coordinator_->Status().restarts(), 8);
}

TEST_F(CoordinatorEpochsTest, ANewRoundEndsTheRestartDelay) {
  StartRun();
  Restart();
  ASSERT_OK(Send(generator_, 0, 1));
  Exit(generator_, 139, "was killed by signal 11");
  EXPECT_THAT(coordinator_->TakeWishes().start, ElementsAre(kGenerator));
}

TEST_F(CoordinatorEpochsTest, ProcessesThatNeverRegisterUseUpTheBudget) {
  options_.epoch.restart_budget = 3;
  Open();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(coordinator_->outcome(), std::nullopt);
    Launch(generator_);
    Exit(generator_, 127, "exited with code 127");
  }
  EXPECT_EQ(State(), StatusReply::FAILED);
}

TEST_F(CoordinatorEpochsTest, ADeathCausedByAPeersDeathIsNotCounted) {
  StartRun();
  Exit(generator_, 137, "was killed by signal 9");
  Exit(discriminator_, kExitResumable, "exited with code 75");
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  EXPECT_EQ(coordinator_->Status().run_epoch(), 2);
  EXPECT_THAT(coordinator_->TakeWishes().start,
              ElementsAre(kGenerator, kDiscriminator));
}

TEST_F(CoordinatorEpochsTest, ADeathDuringRegistrationStartsTheEpochAgain) {
  StartRun();
  Exit(generator_, 137, "was killed by signal 9");
  ASSERT_OK(Register(discriminator_));
  ASSERT_OK(Join(discriminator_));
  Launch(generator_);
  ASSERT_OK(Register(generator_));
  Exit(generator_, 137, "was killed by signal 9");
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(discriminator_));
  EXPECT_TRUE(reply.epoch_superseded());
  EXPECT_EQ(coordinator_->Status().run_epoch(), 3);
}

TEST_F(CoordinatorEpochsTest, ASurvivorThatDoesNotRegisterIsKilled) {
  options_.epoch.join_timeout = absl::Seconds(20);
  StartRun();
  Exit(generator_, 137, "was killed by signal 9");
  Launch(generator_);
  ASSERT_OK(Register(generator_));
  for (int second = 0; second <= 20; ++second) {
    ASSERT_OK(Join(generator_));
    ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                         Send(discriminator_, 3, 3));
    EXPECT_TRUE(reply.epoch_superseded());
    EXPECT_THAT(coordinator_->TakeWishes().kill, IsEmpty());
    LetTimePass(absl::Seconds(1));
  }
  EXPECT_THAT(coordinator_->TakeWishes().kill, ElementsAre(kDiscriminator));
  EXPECT_EQ(coordinator_->Status().restarts(), 2);
  LetTimePass(absl::Seconds(1));
  EXPECT_EQ(coordinator_->Status().restarts(), 2);
}

TEST_F(CoordinatorEpochsTest, AWorkerThatRestartsInMidRunEndsTheEpoch) {
  StartRun();
  ASSERT_OK(Register(discriminator_));
  EXPECT_EQ(discriminator_.run_epoch, 2);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Send(generator_, 0, 0));
  EXPECT_TRUE(reply.epoch_superseded());
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
}

TEST_F(CoordinatorEpochsTest, ADeathWhileStoppingEndsTheRun) {
  StartRun();
  CommitStep(2);
  coordinator_->RequestStop("Ctrl-C");
  ASSERT_OK(SendPaused(generator_, 4, 4));
  Exit(discriminator_, 137, "was killed by signal 9");
  EXPECT_EQ(State(), StatusReply::STOPPED);
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
  EXPECT_THAT(coordinator_->outcome()->detail, HasSubstr("2 of 10 rounds"));
  EXPECT_THAT(coordinator_->TakeWishes().start, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       SendPaused(generator_, 4, 4));
  EXPECT_TRUE(reply.leave());
  EXPECT_TRUE(coordinator_->outcome()->is_known_to_all);
}

TEST_F(CoordinatorEpochsTest, ADeathAfterTheLastCommitChangesNothing) {
  StartRun();
  CommitStep(10);
  ASSERT_OK(SendFinished(generator_));
  // The worker died before it reported the end; nothing is left to do.
  Exit(discriminator_, 137, "was killed by signal 9");
  EXPECT_EQ(State(), StatusReply::FINISHED);
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitOk);
}

TEST_F(CoordinatorEpochsTest, ADamagedCheckpointIsSkippedAndNamed) {
  StartRun();
  CommitStep(2);
  CommitStep(4);
  ASSERT_OK_AND_ASSIGN(const auto newest,
                       FindNewestCheckpoint(run_dir_.path()));
  ASSERT_OK(WriteFile(newest.path + "/generator-0", "generator-0 after 5"));
  TakeEvents();
  Exit(generator_, 137, "was killed by signal 9");
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(discriminator_));
  EXPECT_EQ(reply.first_round(), 2);
  EXPECT_THAT(TakeEvents(),
              ::testing::Contains(HasSubstr("skipped a damaged checkpoint")));
  // The run writes the damaged step again.
  Launch(generator_);
  ASSERT_OK(Register(generator_));
  ASSERT_OK(Join(generator_));
  ASSERT_OK(Join(discriminator_));
  CommitStep(4);
}

// Tests of workers that were started by hand and outlive their coordinator.

class ExternalTest : public CoordinatorEpochsTest {
 protected:
  ExternalTest() {
    options_.epoch.external = true;
    generator_.pid = 1;
    discriminator_.pid = 2;
  }
};

TEST_F(ExternalTest, TheCoordinatorStartsNoWorkers) {
  Open();
  EXPECT_THAT(coordinator_->TakeWishes().start, IsEmpty());
}

TEST_F(ExternalTest, ANewCoordinatorStartsFromTheNewestCheckpoint) {
  StartRun();
  CommitStep(4);
  ASSERT_OK(Send(generator_, 5, 5));
  ASSERT_OK(Report(generator_, 6));
  Open();
  EXPECT_EQ(State(), StatusReply::STARTING);
  for (PlayedWorker* worker : {&generator_, &discriminator_}) {
    EXPECT_THAT(Send(*worker, 5, 5), StatusIs(absl::StatusCode::kNotFound));
    ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(*worker));
    EXPECT_EQ(reply.run_epoch(), 2);
    EXPECT_EQ(reply.first_round(), 4);
  }
  ASSERT_OK(Join(generator_));
  ASSERT_OK(Join(discriminator_));
  EXPECT_EQ(State(), StatusReply::RUNNING);
  CommitStep(6);
}

// The process was stopped for longer than the timeout and replaced; then the
// coordinator restarted.
TEST_F(ExternalTest, ASupersededProcessStaysOutUnderANewCoordinator) {
  StartRun();
  const PlayedWorker zombie = discriminator_;
  PlayedWorker healthy = {.key = kDiscriminator, .pid = 3};
  ASSERT_OK(Register(healthy));
  ASSERT_OK(Register(generator_));
  ASSERT_OK(Join(generator_));
  ASSERT_OK(Join(healthy));
  Open();
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(Send(zombie, 5, 5), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(coordinator_->Register(Registration(zombie)), StatusIs(kRefused));
  ASSERT_OK(Register(generator_));
  ASSERT_OK(Register(healthy));
  ASSERT_OK(Join(generator_));
  ASSERT_OK(Join(healthy));
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EXPECT_EQ(coordinator_->Status().run_epoch(), 3);
  EXPECT_THAT(coordinator_->Register(Registration(zombie)), StatusIs(kRefused));
  EXPECT_EQ(State(), StatusReply::RUNNING);
}

// The coordinator died between the registration and its reply.
TEST_F(ExternalTest, AWorkerWhoseReplyWasLostRegistersAgain) {
  StartRun();
  Exit(discriminator_, 137, "was killed by signal 9");
  ASSERT_OK(coordinator_->Register(Registration(generator_)));
  Open();
  EXPECT_OK(Register(generator_));
}

TEST_F(ExternalTest, MissingWorkersEndTheRunAsResumable) {
  Open();
  ASSERT_OK(Register(generator_));
  for (int second = 0; second <= 120; ++second) {
    ASSERT_OK(Join(generator_));
    LetTimePass(absl::Seconds(1));
  }
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
  EXPECT_THAT(coordinator_->outcome()->detail,
              AllOf(HasSubstr("discriminator 0"),
                    HasSubstr("control.join_timeout_seconds")));
}

TEST_F(ExternalTest, AHandStartedReplacementSupersedesTheOldProcess) {
  StartRun();
  PlayedWorker fresh = {.key = kGenerator, .pid = 9};
  ASSERT_OK(Register(fresh));
  EXPECT_EQ(fresh.run_epoch, 2);
  EXPECT_THAT(Send(generator_, 5, 5),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

// Calls the coordinator from many threads, like gRPC and the launcher.
class CoordinatorThreadsTest : public CoordinatorEpochsTest {
 protected:
  // Reports every second round until the worker is told to leave.
  void PlayRounds(const PlayedWorker& worker) {
    int64_t completed = 0;
    while (true) {
      const bool at_end = completed == options_.epoch.rounds;
      HeartbeatRequest request =
          Beat(worker, at_end ? completed - 1 : completed, completed);
      request.set_finished(at_end);
      const auto reply = coordinator_->Heartbeat(request);
      ASSERT_OK(reply);
      if (reply->leave()) return;
      if (at_end) continue;
      ++completed;
      if (completed % 2 == 0) {
        ASSERT_OK(Report(worker, completed));
      }
    }
  }
};

TEST_F(CoordinatorThreadsTest, ConcurrentCallersDoNotDisturbEachOther) {
  options_.epoch.rounds = 40;
  StartRun();
  {
    const Thread generator("generator", [this] { PlayRounds(generator_); });
    const Thread discriminator("discriminator",
                               [this] { PlayRounds(discriminator_); });
    while (!coordinator_->outcome().has_value()) {
      coordinator_->Tick();
      coordinator_->TakeWishes();
      EXPECT_LE(coordinator_->Status().last_checkpoint_step(), 40);
    }
  }
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitOk);
  EXPECT_TRUE(coordinator_->outcome()->is_known_to_all);
}

}  // namespace
}  // namespace gandem
