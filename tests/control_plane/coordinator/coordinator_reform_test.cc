// SPDX-License-Identifier: Apache-2.0
//
// Fleets that continue without a worker and take it back later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/control_plane/coordinator/coordinator_fixture.h"
#include "tests/testing/full_disk.h"

namespace gandem {
namespace {

using gandem::testing::PlayedWorker;
using gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
constexpr auto kNotYet = absl::StatusCode::kUnavailable;
constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

class CoordinatorReformTest : public gandem::testing::CoordinatorFixture {
 protected:
  using Workers = std::vector<PlayedWorker*>;

  CoordinatorReformTest() {
    options_.epoch.workers = {generator_.key, generator1_.key,
                              discriminator_.key, discriminator1_.key};
    options_.epoch.elastic = true;
  }

  absl::StatusOr<RegisterReply> RegisterHolding(PlayedWorker& worker,
                                                int64_t rounds) {
    RegisterRequest request = Registration(worker);
    request.set_holds_state(true);
    request.set_round(rounds);
    auto reply = coordinator_->Register(request);
    if (reply.ok()) {
      worker.incarnation = reply->incarnation();
      worker.run_epoch = reply->run_epoch();
    }
    return reply;
  }
  // Joins the worker to the fleet of its role (`in_fleet`) or alone.
  absl::StatusOr<JoinReply> Join(const PlayedWorker& worker, bool in_fleet) {
    JoinRequest request;
    request.set_proof(Proof());
    request.set_incarnation(worker.incarnation);
    request.set_run_epoch(worker.run_epoch);
    const std::string name =
        absl::StrCat(worker.key.role == GENERATOR ? "g" : "d", worker.key.rank);
    if (worker.key.role == DISCRIMINATOR) {
      request.set_exchange_address("unix:/exchange-" + name);
    }
    if (in_fleet) request.set_fleet_local_address("unix:/fleet-" + name);
    return coordinator_->Join(request);
  }
  void StartFleets() {
    Open();
    for (PlayedWorker* worker : all_) {
      if (!options_.epoch.external) Launch(*worker);
      ASSERT_OK(Register(*worker));
    }
    for (PlayedWorker* worker : all_) ASSERT_OK(Join(*worker, true));
    ASSERT_EQ(State(), StatusReply::RUNNING);
    TakeEvents();
  }
  void ComeBack(const Workers& workers, int64_t rounds) {
    for (PlayedWorker* worker : workers) {
      (void)RegisterHolding(*worker, rounds);
    }
    for (PlayedWorker* worker : workers) {
      ASSERT_OK(RegisterHolding(*worker, rounds));
    }
  }
  void KillDiscriminator1() {
    Exit(discriminator1_, 137, "was killed by signal 9");
  }
  // Removes one of two discriminators and begins the rounds.
  void GoOnWithoutDiscriminator1(int64_t rounds = 6) {
    KillDiscriminator1();
    ComeBack({&generator_, &generator1_, &discriminator_}, rounds);
    ASSERT_OK(Join(generator_, true));
    ASSERT_OK(Join(generator1_, true));
    ASSERT_OK(Join(discriminator_, false));
    ASSERT_EQ(State(), StatusReply::RUNNING);
  }

  PlayedWorker generator1_ = {.key = {GENERATOR, 1}};
  PlayedWorker discriminator1_ = {.key = {DISCRIMINATOR, 1}};
  const Workers all_ = {&generator_, &generator1_, &discriminator_,
                        &discriminator1_};
};

TEST_F(CoordinatorReformTest, TheOthersContinueFromMemory) {
  StartFleets();
  KillDiscriminator1();
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply beat, Send(generator_, 7, 7));
  EXPECT_TRUE(beat.epoch_superseded());
  EXPECT_THAT(RegisterHolding(generator_, 7),
              StatusIs(kNotYet, HasSubstr("generator 1, discriminator 0")));
  EXPECT_THAT(RegisterHolding(discriminator_, 8), StatusIs(kNotYet));
  // The last worker to register completes the decision.
  ASSERT_OK_AND_ASSIGN(RegisterReply reply, RegisterHolding(generator1_, 6));
  EXPECT_TRUE(reply.keep_state());
  EXPECT_EQ(reply.first_round(), 6);
  EXPECT_EQ(reply.resume_from(), "");
  EXPECT_EQ(reply.position(), 1);
  EXPECT_EQ(reply.generators(), 2);
  EXPECT_EQ(reply.discriminators(), 1);
  EXPECT_EQ(reply.run_epoch(), 2);
  ASSERT_OK_AND_ASSIGN(reply, RegisterHolding(generator_, 7));
  EXPECT_EQ(reply.position(), 0);
  EXPECT_EQ(reply.first_round(), 6);
  ASSERT_OK_AND_ASSIGN(reply, RegisterHolding(discriminator_, 8));
  EXPECT_EQ(reply.position(), 0);

  ASSERT_OK(Join(generator_, true));
  ASSERT_OK(Join(discriminator_, false));
  ASSERT_OK_AND_ASSIGN(const JoinReply joined, Join(generator1_, true));
  ASSERT_TRUE(joined.all_joined());
  EXPECT_THAT(joined.discriminator_addresses(),
              ElementsAre("unix:/exchange-d0"));
  ASSERT_EQ(joined.fleet_size(), 2);
  EXPECT_EQ(joined.fleet(0).incarnation(), generator_.incarnation);
  EXPECT_THAT(TakeEvents(),
              Contains("discriminator 1 was killed by signal 9; its fleet goes "
                       "on with 1 of 2 workers at round 6"));
  const StatusReply status = coordinator_->Status();
  EXPECT_EQ(status.completed_rounds(), 6);
  EXPECT_EQ(status.restarts(), 1);
  EXPECT_EQ(status.workers(3).state(), WorkerStatus::ABSENT);
}

TEST_F(CoordinatorReformTest, OnAFullDiskTheWorkersWait) {
  StartFleets();
  std::optional<gandem::testing::FullDisk> full(std::in_place);
  KillDiscriminator1();
  EXPECT_THAT(RegisterHolding(generator_, 7), StatusIs(kNotYet));
  LetTimePass(absl::Seconds(2));
  full.reset();
  LetTimePass(absl::Seconds(1));
  ComeBack({&generator_, &generator1_, &discriminator_}, 6);
  EXPECT_EQ(generator_.run_epoch, 2);
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
}

TEST_F(CoordinatorReformTest, TheRemainingGeneratorBecomesTheFirst) {
  StartFleets();
  Exit(generator_, 139, "was killed by signal 11");
  ComeBack({&discriminator_, &discriminator1_, &generator1_}, 3);
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                       RegisterHolding(generator1_, 3));
  EXPECT_EQ(reply.position(), 0);
  EXPECT_EQ(reply.generators(), 1);
  ASSERT_OK(Join(generator1_, false));
  ASSERT_OK(Join(discriminator_, true));
  ASSERT_OK_AND_ASSIGN(const JoinReply joined, Join(discriminator1_, true));
  ASSERT_TRUE(joined.all_joined());
  ASSERT_OK(Report(generator1_, 4));
  ASSERT_OK(Report(discriminator1_, 4));
  ASSERT_OK_AND_ASSIGN(const ShardReply whole, Report(discriminator_, 4));
  EXPECT_TRUE(whole.committed());
}

TEST_F(CoordinatorReformTest, TheLostWorkerRejoins) {
  StartFleets();
  GoOnWithoutDiscriminator1();
  EXPECT_THAT(coordinator_->TakeWishes().start,
              ElementsAre(discriminator1_.key));
  Launch(discriminator1_);
  ASSERT_OK(Send(discriminator_, 8, 8));
  PlayedWorker fresh = {.key = discriminator1_.key, .pid = discriminator1_.pid};
  EXPECT_THAT(Register(fresh), StatusIs(kNotYet));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply beat, Send(discriminator_, 9, 9));
  EXPECT_TRUE(beat.epoch_superseded());
  ComeBack({&generator_, &generator1_, &discriminator_}, 9);
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(fresh));
  EXPECT_TRUE(reply.keep_state());
  EXPECT_EQ(reply.position(), 1);
  EXPECT_EQ(reply.discriminators(), 2);
  EXPECT_EQ(reply.first_round(), 9);
  for (PlayedWorker* worker :
       {&generator_, &generator1_, &discriminator_, &fresh}) {
    ASSERT_OK(Join(*worker, true));
  }
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EXPECT_THAT(TakeEvents(),
              Contains("discriminator 1 is back; its fleet goes on with 2 of 2 "
                       "workers at round 9"));
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
}

// The resolution of AUTO is part of the state, which the first worker may lack.
TEST_F(CoordinatorReformTest, TheRolesComputeAsBefore) {
  Open();
  for (PlayedWorker* worker : all_) {
    Launch(*worker);
    ASSERT_OK(Register(*worker));
  }
  JoinRequest request;
  request.set_proof(Proof());
  request.set_incarnation(generator_.incarnation);
  request.set_run_epoch(generator_.run_epoch);
  request.set_fleet_local_address("unix:/g0");
  request.mutable_compute()->set_precision(RoleConfig::BFLOAT16);
  ASSERT_OK(coordinator_->Join(request));
  for (PlayedWorker* worker :
       {&generator1_, &discriminator_, &discriminator1_}) {
    ASSERT_OK(Join(*worker, true));
  }
  Exit(generator_, 139, "was killed by signal 11");
  Launch(generator_);
  PlayedWorker fresh = {.key = generator_.key, .pid = generator_.pid};
  EXPECT_THAT(Register(fresh), StatusIs(kNotYet));
  ComeBack({&generator1_, &discriminator_, &discriminator1_}, 4);
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(fresh));
  EXPECT_EQ(reply.position(), 0);
  EXPECT_EQ(reply.compute().precision(), RoleConfig::BFLOAT16);
}

TEST_F(CoordinatorReformTest, AnEarlyReturnIsPartOfTheSameReform) {
  StartFleets();
  KillDiscriminator1();
  EXPECT_THAT(RegisterHolding(generator_, 5), StatusIs(kNotYet));
  Launch(discriminator1_);
  PlayedWorker fresh = {.key = discriminator1_.key, .pid = discriminator1_.pid};
  EXPECT_THAT(
      Register(fresh),
      StatusIs(kNotYet, HasSubstr("wait for generator 1, discriminator 0")));
  ComeBack({&generator_, &generator1_, &discriminator_}, 5);
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(fresh));
  EXPECT_EQ(reply.run_epoch(), 2);
  EXPECT_EQ(reply.discriminators(), 2);
}

TEST_F(CoordinatorReformTest, ADeathBeforeAllHaveRejoinedStartsNoFurtherEpoch) {
  StartFleets();
  KillDiscriminator1();
  EXPECT_THAT(RegisterHolding(generator_, 5), StatusIs(kNotYet));
  EXPECT_THAT(RegisterHolding(discriminator_, 6), StatusIs(kNotYet));
  Exit(generator1_, 137, "was killed by signal 9");
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                       RegisterHolding(generator_, 5));
  EXPECT_EQ(reply.run_epoch(), 2);
  EXPECT_EQ(reply.generators(), 1);
  EXPECT_EQ(reply.discriminators(), 1);
  EXPECT_EQ(reply.first_round(), 5);
}

TEST_F(CoordinatorReformTest, ADeathAfterTheReformStartsTheNextEpoch) {
  StartFleets();
  KillDiscriminator1();
  ComeBack({&generator_, &generator1_, &discriminator_}, 6);
  ASSERT_OK(Join(generator_, true));
  // generator1 dies before and after it learns its place.
  Exit(generator1_, 137, "was killed by signal 9");
  ASSERT_OK_AND_ASSIGN(const JoinReply joined, Join(generator_, true));
  EXPECT_TRUE(joined.epoch_superseded());
  ComeBack({&generator_, &discriminator_}, 6);
  EXPECT_EQ(generator_.run_epoch, 3);
  ASSERT_OK(Join(generator_, false));
  ASSERT_OK(Join(discriminator_, false));
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EXPECT_THAT(TakeEvents(),
              AllOf(Contains(HasSubstr("discriminator 1 was killed")),
                    Contains(HasSubstr("generator 1 was killed by signal 9; "
                                       "its fleet goes on with 1 of 2"))));
}

TEST_F(CoordinatorReformTest, AMemberThatDiesBeforeItsReplyIsNotAwaited) {
  StartFleets();
  KillDiscriminator1();
  EXPECT_THAT(RegisterHolding(generator_, 6), StatusIs(kNotYet));
  EXPECT_THAT(RegisterHolding(generator1_, 6), StatusIs(kNotYet));
  ASSERT_OK(RegisterHolding(discriminator_, 6));  // all have rejoined
  ASSERT_OK(RegisterHolding(generator_, 6));
  // generator1 never asks for its answer.
  Exit(generator1_, 137, "was killed by signal 9");
  ComeBack({&generator_, &discriminator_}, 6);
  ASSERT_OK(Join(generator_, false));
  ASSERT_OK(Join(discriminator_, false));
  EXPECT_EQ(State(), StatusReply::RUNNING);
}

TEST_F(CoordinatorReformTest, ALostRoleStartsFromTheCheckpoint) {
  StartFleets();
  for (PlayedWorker* worker : all_) ASSERT_OK(Report(*worker, 4));
  KillDiscriminator1();
  EXPECT_THAT(RegisterHolding(generator_, 7), StatusIs(kNotYet));
  Exit(discriminator_, 137, "was killed by signal 9");
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                       RegisterHolding(generator_, 7));
  EXPECT_FALSE(reply.keep_state());
  EXPECT_EQ(reply.first_round(), 4);
  EXPECT_THAT(reply.resume_from(), HasSubstr("checkpoints/step-"));
  for (PlayedWorker* worker : {&discriminator_, &discriminator1_}) {
    Launch(*worker);
    worker->incarnation = 0;
    ASSERT_OK(Register(*worker));
  }
  ASSERT_OK(RegisterHolding(generator1_, 7));
  for (PlayedWorker* worker : all_) ASSERT_OK(Join(*worker, true));
  EXPECT_EQ(State(), StatusReply::RUNNING);
}

TEST_F(CoordinatorReformTest, ARoleWithoutStatesStartsFromTheCheckpoint) {
  StartFleets();
  KillDiscriminator1();
  EXPECT_THAT(RegisterHolding(generator_, 7), StatusIs(kNotYet));
  EXPECT_THAT(RegisterHolding(generator1_, 7), StatusIs(kNotYet));
  // The worker had not received the state yet.
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(discriminator_));
  EXPECT_FALSE(reply.keep_state());
  EXPECT_EQ(reply.first_round(), 0);
}

TEST_F(CoordinatorReformTest, AnExactRunStartsFromTheCheckpoint) {
  options_.epoch.elastic = false;
  StartFleets();
  KillDiscriminator1();
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(generator_));
  EXPECT_FALSE(reply.keep_state());
  EXPECT_EQ(reply.first_round(), 0);
}

TEST_F(CoordinatorReformTest, ASupersededProcessIsRefused) {
  options_.epoch.external = true;
  StartFleets();
  for (int second = 0; second <= 60; ++second) {
    for (PlayedWorker* worker : {&generator_, &generator1_, &discriminator_}) {
      ASSERT_OK(Send(*worker, 5, 5));
    }
    LetTimePass(absl::Seconds(1));
  }
  EXPECT_EQ(coordinator_->Status().run_epoch(), 2);
  EXPECT_THAT(Send(discriminator1_, 5, 5), StatusIs(kRefused));
  EXPECT_THAT(RegisterHolding(discriminator1_, 5), StatusIs(kRefused));
  ComeBack({&generator_, &generator1_, &discriminator_}, 5);
  EXPECT_THAT(RegisterHolding(discriminator1_, 5), StatusIs(kRefused));
  EXPECT_THAT(Register(discriminator1_), StatusIs(kRefused));
  // Another process may take the place.
  ASSERT_OK(Join(generator_, true));
  ASSERT_OK(Join(generator1_, true));
  ASSERT_OK(Join(discriminator_, false));
  PlayedWorker fresh = {.key = discriminator1_.key, .pid = 7};
  EXPECT_THAT(Register(fresh), StatusIs(kNotYet));
  ComeBack({&generator_, &generator1_, &discriminator_}, 6);
  ASSERT_OK(Register(fresh));
  EXPECT_THAT(Send(discriminator1_, 5, 5), StatusIs(kRefused));
}

TEST_F(CoordinatorReformTest, AReplacementInMidRunReformsTheFleet) {
  options_.epoch.external = true;
  StartFleets();
  PlayedWorker fresh = {.key = discriminator1_.key, .pid = 7};
  EXPECT_THAT(Register(fresh), StatusIs(kNotYet));
  EXPECT_THAT(RegisterHolding(discriminator1_, 5), StatusIs(kRefused));
  ComeBack({&generator_, &generator1_, &discriminator_}, 6);
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(fresh));
  EXPECT_TRUE(reply.keep_state());
  EXPECT_EQ(reply.discriminators(), 2);
}

TEST_F(CoordinatorReformTest, ASilentMemberIsNotAwaited) {
  StartFleets();
  KillDiscriminator1();
  for (int second = 0; second <= 60; ++second) {
    EXPECT_THAT(RegisterHolding(generator_, 6), StatusIs(kNotYet));
    EXPECT_THAT(RegisterHolding(discriminator_, 6), StatusIs(kNotYet));
    LetTimePass(absl::Seconds(1));
  }
  EXPECT_THAT(coordinator_->TakeWishes().kill, ElementsAre(generator1_.key));
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                       RegisterHolding(generator_, 6));
  EXPECT_EQ(reply.generators(), 1);
}

TEST_F(CoordinatorReformTest, AMemberThatDoesNotJoinIsNotAwaited) {
  options_.epoch.external = true;
  options_.epoch.join_timeout = absl::Seconds(20);
  StartFleets();
  PlayedWorker fresh = {.key = discriminator1_.key, .pid = 7};
  EXPECT_THAT(Register(fresh), StatusIs(kNotYet));
  ComeBack({&generator_, &generator1_, &discriminator_}, 6);
  for (int second = 0; second <= 20; ++second) {
    for (PlayedWorker* worker : {&generator_, &generator1_, &discriminator_}) {
      ASSERT_OK(Join(*worker, true));
    }
    LetTimePass(absl::Seconds(1));
  }
  EXPECT_FALSE(coordinator_->outcome().has_value());
  ComeBack({&generator_, &generator1_, &discriminator_}, 6);
  ASSERT_OK(Join(discriminator_, false));
}

TEST_F(CoordinatorReformTest, AWorkerThatDoesNotRejoinIsRestarted) {
  options_.epoch.join_timeout = absl::Seconds(20);
  StartFleets();
  GoOnWithoutDiscriminator1();
  Launch(discriminator1_);
  for (int second = 0; second <= 20; ++second) {
    for (PlayedWorker* worker : {&generator_, &generator1_, &discriminator_}) {
      ASSERT_OK(Send(*worker, 6, 6));
    }
    LetTimePass(absl::Seconds(1));
  }
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EXPECT_THAT(coordinator_->TakeWishes().kill,
              ElementsAre(discriminator1_.key));
}

TEST_F(CoordinatorReformTest, RestartsHaveABudget) {
  options_.epoch.restart_budget = 2;
  StartFleets();
  GoOnWithoutDiscriminator1();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(coordinator_->outcome().has_value());
    Launch(discriminator1_);
    Exit(discriminator1_, 127, "exited with code 127");
  }
  EXPECT_EQ(State(), StatusReply::FAILED);
}

TEST_F(CoordinatorReformTest, AStopFollowsTheReform) {
  StartFleets();
  KillDiscriminator1();
  coordinator_->RequestStop("Ctrl-C");
  EXPECT_FALSE(coordinator_->outcome().has_value());
  ComeBack({&generator_, &generator1_, &discriminator_}, 6);
  ASSERT_OK(Join(generator_, true));
  ASSERT_OK(Join(generator1_, true));
  ASSERT_OK(Join(discriminator_, false));
  EXPECT_EQ(State(), StatusReply::STOPPING);
  EXPECT_THAT(coordinator_->TakeWishes().start, IsEmpty());
  ASSERT_OK(SendPaused(generator_, 6, 6));
  ASSERT_OK(SendPaused(generator1_, 6, 6));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       SendPaused(discriminator_, 5, 6));
  ASSERT_TRUE(reply.has_cut());
  EXPECT_EQ(reply.cut(), 6);
}

TEST_F(CoordinatorReformTest, AStopDoesNotWaitForeverForAReform) {
  options_.epoch.grace = absl::Seconds(10);
  StartFleets();
  KillDiscriminator1();
  for (int second = 0; second <= 10; ++second) {
    coordinator_->RequestStop("Ctrl-C");
    LetTimePass(absl::Seconds(1));
  }
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
}

TEST_F(CoordinatorReformTest, NothingIsLeftToDoAfterTheLastCommit) {
  StartFleets();
  for (PlayedWorker* worker : all_) ASSERT_OK(Report(*worker, 10));
  KillDiscriminator1();
  EXPECT_EQ(State(), StatusReply::FINISHED);
}

TEST_F(CoordinatorReformTest, ANewCoordinatorDoesNotUseStatesInMemory) {
  options_.epoch.external = true;
  StartFleets();
  Open();
  for (PlayedWorker* worker : all_) {
    ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                         RegisterHolding(*worker, 5));
    EXPECT_FALSE(reply.keep_state());
    EXPECT_EQ(reply.first_round(), 0);
  }
}

TEST_F(CoordinatorReformTest, ARoundOutsideTheRunIsRefused) {
  StartFleets();
  KillDiscriminator1();
  EXPECT_THAT(RegisterHolding(generator_, 11),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace gandem
