// SPDX-License-Identifier: Apache-2.0
//
// A run without progress despite heartbeats, and the resolution of AUTO.
#include <gmock/gmock.h>

#include "common/results/run_folder.h"
#include "tests/control_plane/coordinator/coordinator_fixture.h"

namespace gandem {
namespace {

using ::gandem::testing::kDiscriminator;
using ::gandem::testing::kGenerator;
using ::gandem::testing::PlayedWorker;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kBadJoin = absl::StatusCode::kInvalidArgument;

class CoordinatorProgressTest : public ::gandem::testing::CoordinatorFixture {
 protected:
  CoordinatorProgressTest() {
    options_.epoch.progress_timeout = absl::Seconds(30);
  }

  static void SetPosition(WorkerPosition::Wait wait, Role whom, double seconds,
                          HeartbeatRequest& request) {
    WorkerPosition& position = *request.mutable_position();
    position.set_wait(wait);
    position.set_whom(whom);
    position.set_seconds(seconds);
  }
  // For `seconds`, both workers report `completed` rounds and that the
  // generator waits for the discriminator.
  void StandStill(int64_t completed, int seconds) {
    for (int i = 0; i < seconds; ++i) {
      clock_.Advance(absl::Seconds(1));
      HeartbeatRequest waits = Beat(generator_, completed, completed);
      SetPosition(WorkerPosition::WEIGHTS, DISCRIMINATOR, i, waits);
      (void)coordinator_->Heartbeat(waits);
      HeartbeatRequest computes = Beat(discriminator_, completed, completed);
      SetPosition(WorkerPosition::NOTHING, ROLE_UNKNOWN, i, computes);
      (void)coordinator_->Heartbeat(computes);
      Tick();
    }
  }
  // Starts the run, completes one round and then makes no progress.
  void StartAndDoOneRound() {
    StartRun();
    Tick();
    ASSERT_OK(Send(generator_, 1, 1));
    ASSERT_OK(Send(discriminator_, 1, 1));
    Tick();
  }
  static JoinRequest Chosen(JoinRequest request, Role role,
                            RoleConfig::Precision precision,
                            const std::string& measured_for) {
    RoleCompute& chosen = *request.add_chosen();
    chosen.set_role(role);
    chosen.mutable_choice()->set_precision(precision);
    chosen.set_measured_for(measured_for);
    return request;
  }
  JoinRequest Ready(const PlayedWorker& worker) const {
    JoinRequest request;
    request.set_proof(Proof());
    request.set_incarnation(worker.incarnation);
    request.set_run_epoch(worker.run_epoch);
    return request;
  }
};

TEST_F(CoordinatorProgressTest, TheWorkerThatBlocksTheRunIsKilledAndRestarted) {
  StartAndDoOneRound();
  StandStill(1, 29);
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EXPECT_THAT(coordinator_->TakeWishes().kill, IsEmpty());
  StandStill(1, 2);
  EXPECT_THAT(TakeEvents(),
              Contains(AllOf(HasSubstr("new run epoch: discriminator 0"),
                             HasSubstr("no worker has finished a round for 30"),
                             HasSubstr("generator 0 waits for weights of "
                                       "discriminator 0 since "))));
  EXPECT_EQ(State(), StatusReply::STARTING);
  EXPECT_THAT(coordinator_->TakeWishes().kill, ElementsAre(kDiscriminator));
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  // The killed worker may wake up; the other one starts over in the new epoch.
  EXPECT_THAT(Send(discriminator_, 1, 1),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Send(generator_, 1, 1));
  EXPECT_TRUE(reply.epoch_superseded());
  Exit(discriminator_, kExitInternal, "killed by signal 9");
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  EXPECT_THAT(coordinator_->TakeWishes().start, ElementsAre(kDiscriminator));
}

TEST_F(CoordinatorProgressTest, TheBudgetEndsARunThatAlwaysHangs) {
  options_.epoch.restart_budget = 0;
  StartAndDoOneRound();
  StandStill(1, 31);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitInternal);
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("discriminator 0 is taken for stuck: no worker has"));
}

TEST_F(CoordinatorProgressTest, AHangingWorkerByHandIsNamedWithItsProcess) {
  options_.epoch.external = true;
  generator_.pid = 11;
  discriminator_.pid = 22;
  StartAndDoOneRound();
  StandStill(1, 31);
  EXPECT_THAT(TakeEvents(), Contains(HasSubstr("end its process 22 on here")));
}

TEST_F(CoordinatorProgressTest, ARunThatIsStoppingHasItsGrace) {
  options_.epoch.grace = absl::Seconds(100);
  StartAndDoOneRound();
  coordinator_->RequestStop("test");
  StandStill(1, 60);
  EXPECT_EQ(State(), StatusReply::STOPPING);
  EXPECT_THAT(coordinator_->TakeWishes().kill, IsEmpty());
}

TEST_F(CoordinatorProgressTest, APauseOfTheCoordinatorCountsForNoWorker) {
  options_.epoch.progress_timeout = absl::Seconds(4);
  StartAndDoOneRound();
  StandStill(1, 2);
  clock_.Advance(absl::Milliseconds(4500));
  Tick();
  StandStill(1, 1);
  EXPECT_EQ(coordinator_->Status().restarts(), 0);
  StandStill(1, 2);
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
}

TEST_F(CoordinatorProgressTest, TheStatusShowsTheCurrentLengthOfAWait) {
  StartAndDoOneRound();
  HeartbeatRequest waits = Beat(generator_, 1, 1);
  SetPosition(WorkerPosition::WEIGHTS, DISCRIMINATOR, 4, waits);
  ASSERT_OK(coordinator_->Heartbeat(waits));
  clock_.Advance(absl::Seconds(3));
  const WorkerPosition position = coordinator_->Status().workers(0).position();
  EXPECT_EQ(position.wait(), WorkerPosition::WEIGHTS);
  EXPECT_EQ(position.whom(), DISCRIMINATOR);
  EXPECT_EQ(position.seconds(), 7);
}

TEST_F(CoordinatorProgressTest, AnImpossiblePositionIsRefused) {
  StartAndDoOneRound();
  HeartbeatRequest request = Beat(generator_, 2, 2);
  SetPosition(static_cast<WorkerPosition::Wait>(99), ROLE_UNKNOWN, 1, request);
  EXPECT_THAT(coordinator_->Heartbeat(request), StatusIs(kBadJoin));
  SetPosition(WorkerPosition::DATA, ROLE_UNKNOWN, -1, request);
  EXPECT_THAT(coordinator_->Heartbeat(request), StatusIs(kBadJoin));
  EXPECT_EQ(coordinator_->Status().completed_rounds(), 1);
}

// Heartbeats arrive from the start, so slowness is not silence.
TEST_F(CoordinatorProgressTest, AWorkerMayMeasureForALongTime) {
  options_.epoch.heartbeat_timeout = absl::Seconds(10);
  options_.epoch.join_timeout = absl::Seconds(20);
  Open();
  for (PlayedWorker* worker : {&generator_, &discriminator_}) {
    Launch(*worker);
    ASSERT_OK(Register(*worker));
  }
  ASSERT_OK(Join(generator_));
  const auto measure = [this](int seconds, WorkerPosition::Wait wait) {
    for (int i = 0; i < seconds; ++i) {
      clock_.Advance(absl::Seconds(1));
      ASSERT_OK(Send(generator_, -1, 0));
      HeartbeatRequest request = Beat(discriminator_, -1, 0);
      SetPosition(wait, ROLE_UNKNOWN, i, request);
      const auto reply = coordinator_->Heartbeat(request);
      if (!reply.ok()) return;  // declared dead
      Tick();
    }
  };
  measure(150, WorkerPosition::MEASURE);
  EXPECT_EQ(coordinator_->Status().restarts(), 0);
  // After measuring, the usual limit applies.
  measure(19, WorkerPosition::NOTHING);
  EXPECT_EQ(coordinator_->Status().restarts(), 0);
  measure(2, WorkerPosition::NOTHING);
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  EXPECT_THAT(TakeEvents(),
              Contains(HasSubstr("discriminator 0 was not ready within 20s")));
}

TEST_F(CoordinatorProgressTest, TheFirstResolutionOfAutoIsKeptOnDisk) {
  options_.epoch.external = true;
  Open();
  ASSERT_OK_AND_ASSIGN(const RegisterReply first, Register(generator_));
  EXPECT_THAT(first.chosen(), IsEmpty());
  ASSERT_OK(coordinator_->Join(
      Chosen(Ready(generator_), GENERATOR, RoleConfig::BFLOAT16, "ab12")));
  // The choice is on disk before others join.
  ASSERT_OK_AND_ASSIGN(const RunCounters counters,
                       RunFolder(run_dir_.path()).ReadCounters());
  ASSERT_EQ(counters.computes_size(), 1);
  EXPECT_EQ(counters.computes(0).role(), GENERATOR);
  EXPECT_EQ(counters.computes(0).choice().precision(), RoleConfig::BFLOAT16);
  Open();
  generator_ = {.key = kGenerator};
  ASSERT_OK_AND_ASSIGN(const RegisterReply again, Register(generator_));
  ASSERT_EQ(again.chosen_size(), 1);
  EXPECT_EQ(again.chosen(0).measured_for(), "ab12");
  EXPECT_EQ(again.chosen(0).choice().precision(), RoleConfig::BFLOAT16);
  // Replaces a choice that was measured for other options.
  ASSERT_OK(coordinator_->Join(
      Chosen(Ready(generator_), GENERATOR, RoleConfig::FLOAT32, "cd34")));
  ASSERT_OK_AND_ASSIGN(const RegisterReply third, Register(generator_));
  ASSERT_EQ(third.chosen_size(), 1);
  EXPECT_EQ(third.chosen(0).measured_for(), "cd34");
}

TEST_F(CoordinatorProgressTest, AnInvalidResolutionOfAutoIsRefused) {
  options_.epoch.external = true;
  Open();
  ASSERT_OK(Register(generator_));
  const JoinRequest ready = Ready(generator_);
  for (const JoinRequest& bad :
       {Chosen(ready, DISCRIMINATOR, RoleConfig::FLOAT32, "ab"),
        Chosen(ready, ROLE_UNKNOWN, RoleConfig::FLOAT32, "ab"),
        Chosen(ready, GENERATOR, RoleConfig::AUTO, "ab"),
        Chosen(ready, GENERATOR, RoleConfig::FLOAT32, "\x1b[31m"),
        Chosen(ready, GENERATOR, RoleConfig::FLOAT32,
               std::string(5000, 'a'))}) {
    EXPECT_THAT(coordinator_->Join(bad),
                StatusIs(kBadJoin, HasSubstr("what AUTO has become")));
  }
  ASSERT_OK_AND_ASSIGN(const RunCounters counters,
                       RunFolder(run_dir_.path()).ReadCounters());
  EXPECT_THAT(counters.computes(), IsEmpty());
}

}  // namespace
}  // namespace gandem
