// SPDX-License-Identifier: Apache-2.0
//
// Tests runs without progress in spite of heartbeats, and the choices for AUTO.
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
  // Reports `completed` rounds and a waiting generator each second.
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
  // Starts the run and stops it from progressing after one round.
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

TEST_F(CoordinatorProgressTest, WorkersThatBlockTheRunAreKilledAndRestarted) {
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
  // The killed worker may wake up; the other one registers again.
  EXPECT_THAT(Send(discriminator_, 1, 1),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Send(generator_, 1, 1));
  EXPECT_TRUE(reply.epoch_superseded());
  Exit(discriminator_, kExitInternal, "killed by signal 9");
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  EXPECT_THAT(coordinator_->TakeWishes().start, ElementsAre(kDiscriminator));
}

TEST_F(CoordinatorProgressTest, BudgetEndsRunsThatAlwaysBlock) {
  options_.epoch.restart_budget = 0;
  StartAndDoOneRound();
  StandStill(1, 31);
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitInternal);
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("discriminator 0 is taken for stuck: no worker has"));
}

TEST_F(CoordinatorProgressTest, WorkersStartedByHandAreNamedWithTheirProcess) {
  options_.epoch.external = true;
  generator_.pid = 11;
  discriminator_.pid = 22;
  StartAndDoOneRound();
  StandStill(1, 31);
  EXPECT_THAT(TakeEvents(), Contains(HasSubstr("end its process 22 on here")));
}

TEST_F(CoordinatorProgressTest, StoppingRunsHaveTheirGrace) {
  options_.epoch.grace = absl::Seconds(100);
  StartAndDoOneRound();
  coordinator_->RequestStop("test");
  StandStill(1, 60);
  EXPECT_EQ(State(), StatusReply::STOPPING);
  EXPECT_THAT(coordinator_->TakeWishes().kill, IsEmpty());
}

// Only time that the coordinator observed counts, even for short timeouts.
TEST_F(CoordinatorProgressTest, PausesOfTheCoordinatorDoNotCount) {
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

TEST_F(CoordinatorProgressTest, StatusShowsTheCurrentLengthOfWaits) {
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

TEST_F(CoordinatorProgressTest, ImpossiblePositionsAreRejected) {
  StartAndDoOneRound();
  HeartbeatRequest request = Beat(generator_, 2, 2);
  SetPosition(static_cast<WorkerPosition::Wait>(99), ROLE_UNKNOWN, 1, request);
  EXPECT_THAT(coordinator_->Heartbeat(request), StatusIs(kBadJoin));
  SetPosition(WorkerPosition::DATA, ROLE_UNKNOWN, -1, request);
  EXPECT_THAT(coordinator_->Heartbeat(request), StatusIs(kBadJoin));
  EXPECT_EQ(coordinator_->Status().completed_rounds(), 1);
}

// Heartbeats start before measuring, so slow workers are not silent.
TEST_F(CoordinatorProgressTest, WorkersMayMeasureForLong) {
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
      if (!reply.ok()) return;  // the worker was declared dead
      Tick();
    }
  };
  measure(150, WorkerPosition::MEASURE);
  EXPECT_EQ(coordinator_->Status().restarts(), 0);
  // Afterwards the worker has the usual time.
  measure(19, WorkerPosition::NOTHING);
  EXPECT_EQ(coordinator_->Status().restarts(), 0);
  measure(2, WorkerPosition::NOTHING);
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  EXPECT_THAT(TakeEvents(),
              Contains(HasSubstr("discriminator 0 was not ready within 20s")));
}

TEST_F(CoordinatorProgressTest, FirstChoiceForAutoIsKeptOnDisk) {
  options_.epoch.external = true;
  Open();
  ASSERT_OK_AND_ASSIGN(const RegisterReply first, Register(generator_));
  EXPECT_THAT(first.chosen(), IsEmpty());
  ASSERT_OK(coordinator_->Join(
      Chosen(Ready(generator_), GENERATOR, RoleConfig::BFLOAT16, "ab12")));
  // The choice is on disk before the next worker joins.
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
  // The choice was measured for other settings: the newest choice counts.
  ASSERT_OK(coordinator_->Join(
      Chosen(Ready(generator_), GENERATOR, RoleConfig::FLOAT32, "cd34")));
  ASSERT_OK_AND_ASSIGN(const RegisterReply third, Register(generator_));
  ASSERT_EQ(third.chosen_size(), 1);
  EXPECT_EQ(third.chosen(0).measured_for(), "cd34");
}

TEST_F(CoordinatorProgressTest, InvalidChoicesAreRejected) {
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
