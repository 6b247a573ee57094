// SPDX-License-Identifier: Apache-2.0
//
// Several workers per role at the coordinator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "tests/control_plane/coordinator/coordinator_fixture.h"

namespace gandem {
namespace {

using gandem::testing::PlayedWorker;
using gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class CoordinatorFleetTest : public gandem::testing::CoordinatorFixture {
 protected:
  CoordinatorFleetTest() {
    options_.epoch.workers = {kDiscriminator0, {GENERATOR, 1}, {GENERATOR, 0}};
    options_.epoch.external = true;
  }

  absl::Status RegisterOn(const std::string& host, PlayedWorker& worker) {
    RegisterRequest request = Registration(worker);
    request.set_host(host);
    GANDEM_ASSIGN_OR_RETURN(const RegisterReply reply,
                            coordinator_->Register(request));
    worker.incarnation = reply.incarnation();
    worker.run_epoch = reply.run_epoch();
    return absl::OkStatus();
  }
  JoinRequest Ready(const PlayedWorker& worker) const {
    JoinRequest request;
    request.set_proof(Proof());
    request.set_incarnation(worker.incarnation);
    request.set_run_epoch(worker.run_epoch);
    if (worker.key.role == DISCRIMINATOR) {
      request.set_exchange_address("127.0.0.1:1");
    } else {
      request.set_fleet_local_address(
          absl::StrCat("unix:/fleet-", worker.key.rank));
    }
    return request;
  }
  void StartFleet() {
    Open();
    for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
      ASSERT_OK(RegisterOn("here", *worker));
    }
    for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
      ASSERT_OK(coordinator_->Join(Ready(*worker)));
    }
  }

  static constexpr WorkerKey kDiscriminator0 = {DISCRIMINATOR, 0};
  PlayedWorker second_ = {.key = {GENERATOR, 1}};
};

TEST_F(CoordinatorFleetTest, DifferentMachinesAreReportedAndRecorded) {
  const auto join = [this](const std::string& capability) {
    for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
      RegisterRequest request = Registration(*worker);
      request.set_host(worker == &second_ ? "old" : "new");
      request.set_host_identity("one");
      (*request.mutable_numerics())["CPU capability"] =
          worker == &second_ ? "AVX2" : capability;
      (*request.mutable_numerics())["GPU"] = worker == &second_ ? "A" : "B";
      ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                           coordinator_->Register(request));
      worker->incarnation = reply.incarnation();
      worker->run_epoch = reply.run_epoch();
    }
    for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
      ASSERT_OK(coordinator_->Join(Ready(*worker)));
    }
  };
  Open();
  join("AVX512");
  EXPECT_THAT(
      TakeEvents(),
      Contains(AllOf(HasSubstr("CPU capability is AVX2 (generator 1 on old) "
                               "and AVX512 (generator 0 on new, discriminator "
                               "0 on new)"),
                     ::testing::Not(HasSubstr("GPU")))));
  for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
    ASSERT_OK(Report(*worker, 4));
  }
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest,
                       ReadManifest(CheckpointPath(run_dir_.path(), 4)));
  ASSERT_EQ(manifest.numerics_size(), 2);
  EXPECT_EQ(manifest.numerics(0).values().at("CPU capability"), "AVX512");
  EXPECT_EQ(manifest.numerics(0).workers_size(), 2);
  EXPECT_EQ(manifest.numerics(1).workers(0), "generator 1 on old");
  options_.epoch.external = false;
  Open();
  for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
    Launch(*worker);
  }
  join("AVX2");
  EXPECT_THAT(TakeEvents(), Contains(HasSubstr("and AVX512 (the checkpoint)")));
}

// Cloned machines have the same name.
TEST_F(CoordinatorFleetTest, TwoHostsWithTheSameNameAreDistinguished) {
  Open();
  for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
    RegisterRequest request = Registration(*worker);
    request.set_host_identity(worker == &second_ ? "here/2/7" : "here/1/7");
    ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                         coordinator_->Register(request));
    worker->incarnation = reply.incarnation();
    worker->run_epoch = reply.run_epoch();
  }
  EXPECT_THAT(coordinator_->Join(Ready(generator_)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("generator 0 on here serves a unix "
                                       "socket, which generator 1 on here "
                                       "cannot reach"),
                             HasSubstr("--fleet_listen"))));
  for (PlayedWorker* worker : {&generator_, &second_}) {
    JoinRequest ready = Ready(*worker);
    ready.set_fleet_network_address("10.0.0.1:7000");
    ASSERT_OK(coordinator_->Join(ready));
  }
  ASSERT_OK(coordinator_->Join(Ready(discriminator_)));
  JoinRequest ready = Ready(generator_);
  ready.set_fleet_network_address("10.0.0.1:7000");
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, coordinator_->Join(ready));
  ASSERT_TRUE(reply.all_joined());
  EXPECT_EQ(reply.fleet(0).host(), "here");
  EXPECT_EQ(reply.fleet(0).host_identity(), "here/1/7");
  EXPECT_EQ(reply.fleet(1).host_identity(), "here/2/7");
}

TEST_F(CoordinatorFleetTest, WorkersOfARoleLearnTheAddressesOfTheOthers) {
  Open();
  for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
    ASSERT_OK(RegisterOn("here", *worker));
  }
  JoinRequest first = Ready(generator_);
  first.mutable_compute()->set_precision(RoleConfig::BFLOAT16);
  ASSERT_OK_AND_ASSIGN(const JoinReply early, coordinator_->Join(first));
  EXPECT_FALSE(early.all_joined());
  ASSERT_OK(coordinator_->Join(Ready(discriminator_)));
  ASSERT_OK_AND_ASSIGN(const JoinReply reply,
                       coordinator_->Join(Ready(second_)));
  ASSERT_TRUE(reply.all_joined());
  ASSERT_EQ(reply.fleet_size(), 2);
  EXPECT_EQ(reply.fleet(0).local_address(), "unix:/fleet-0");
  EXPECT_EQ(reply.fleet(0).incarnation(), generator_.incarnation);
  EXPECT_EQ(reply.fleet(1).local_address(), "unix:/fleet-1");
  EXPECT_EQ(reply.fleet(1).incarnation(), second_.incarnation);
  EXPECT_EQ(reply.fleet(1).host(), "here");
  EXPECT_EQ(reply.generator_compute().precision(), RoleConfig::BFLOAT16);
  ASSERT_OK_AND_ASSIGN(const JoinReply alone,
                       coordinator_->Join(Ready(discriminator_)));
  EXPECT_EQ(alone.fleet_size(), 0);
}

// Their heartbeats may all be queued behind others.
TEST_F(CoordinatorFleetTest, WorkersFoundSilentTogetherCauseOneRestart) {
  options_.epoch.restart_budget = 1;
  StartFleet();
  for (int second = 0; second <= 61; ++second) {
    ASSERT_OK(Send(discriminator_, 0, 0));
    LetTimePass(absl::Seconds(1));
    if (State() != StatusReply::RUNNING) break;
  }
  EXPECT_EQ(State(), StatusReply::STARTING);
  EXPECT_EQ(coordinator_->Status().restarts(), 2);
  EXPECT_EQ(coordinator_->Status().run_epoch(), 2);
}

// Neither rank can pass a sum without the other rank.
TEST_F(CoordinatorFleetTest, RoundsOfTheOwnFleetAreSignsOfLife) {
  options_.epoch.rounds = 1000;
  StartFleet();
  for (int second = 1; second <= 200; ++second) {
    ASSERT_OK(Send(generator_, second, second));
    ASSERT_OK(Send(discriminator_, second, second));
    LetTimePass(absl::Seconds(1));
  }
  EXPECT_EQ(State(), StatusReply::RUNNING);
  for (int second = 1; second <= 60; ++second) {
    ASSERT_OK(Send(generator_, 200, 200));
    ASSERT_OK(Send(discriminator_, 200, 200));
    LetTimePass(absl::Seconds(1));
  }
  EXPECT_EQ(State(), StatusReply::STARTING);
  EXPECT_THAT(coordinator_->Status().detail(),
              HasSubstr("generator 1 was silent for more than 1m"));
}

TEST_F(CoordinatorFleetTest, RoundsOfTheOtherFleetAreNotSignsOfLife) {
  options_.epoch.rounds = 1000;
  StartFleet();
  for (int second = 1; second <= 61; ++second) {
    ASSERT_OK(Send(discriminator_, second, second));
    LetTimePass(absl::Seconds(1));
  }
  EXPECT_EQ(State(), StatusReply::STARTING);
}

TEST_F(CoordinatorFleetTest, ReportsHowManyRoundsADeathCosts) {
  options_.epoch.rounds = 100;
  options_.epoch.external = false;
  Open();
  for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
    Launch(*worker);
    ASSERT_OK(Register(*worker));
  }
  for (PlayedWorker* worker : {&generator_, &second_, &discriminator_}) {
    ASSERT_OK(coordinator_->Join(Ready(*worker)));
  }
  ASSERT_OK(Report(generator_, 10));
  ASSERT_OK(Report(discriminator_, 10));
  ASSERT_OK(Send(generator_, 17, 17));
  Exit(discriminator_, 137, "was killed by signal 9");
  EXPECT_THAT(
      TakeEvents(),
      Contains("run epoch 2: starting from the beginning; 17 completed rounds "
               "are repeated"));
}

TEST_F(CoordinatorFleetTest, WorkersReceiveTheResolvedOptions) {
  options_.epoch.rounds = 100;
  StartFleet();
  ASSERT_OK(Report(generator_, 10));
  ASSERT_OK(Report(discriminator_, 10));
  ShardReport failed;
  failed.set_incarnation(second_.incarnation);
  failed.set_run_epoch(second_.run_epoch);
  failed.set_step(10);
  failed.set_error("no space");
  ASSERT_OK_AND_ASSIGN(const ShardReply reply,
                       coordinator_->ReportShard(failed));
  EXPECT_FALSE(reply.committed());
  EXPECT_EQ(reply.settled_step(), 10);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply beat, Send(generator_, 12, 12));
  EXPECT_EQ(beat.committed_step(), 0);
  EXPECT_EQ(beat.settled_step(), 10);
}

TEST_F(CoordinatorFleetTest, AFleetOnTwoHostsNeedsNetworkAddresses) {
  Open();
  ASSERT_OK(RegisterOn("here", generator_));
  ASSERT_OK(RegisterOn("there", second_));
  JoinRequest first = Ready(generator_);
  first.set_fleet_network_address("10.0.0.1:5");
  EXPECT_OK(coordinator_->Join(first));
  EXPECT_THAT(coordinator_->Join(Ready(second_)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("generator 1 on there"),
                             HasSubstr("--fleet_listen HOST:PORT to all "
                                       "generator workers"))));
}

TEST_F(CoordinatorFleetTest, FleetAddressesAreForFleetsOnly) {
  Open();
  ASSERT_OK(RegisterOn("here", second_));
  ASSERT_OK(RegisterOn("here", discriminator_));
  JoinRequest lost = Ready(second_);
  lost.clear_fleet_local_address();
  EXPECT_THAT(coordinator_->Join(lost).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must tell where the others find it")));
  JoinRequest alone = Ready(discriminator_);
  alone.set_fleet_network_address("10.0.0.1:5");
  EXPECT_THAT(coordinator_->Join(alone).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the only worker of a role")));
}

TEST_F(CoordinatorFleetTest, ACheckpointIsCompleteWhenAllRanksHaveReported) {
  StartFleet();
  for (const PlayedWorker* worker : {&discriminator_, &generator_}) {
    ASSERT_OK_AND_ASSIGN(const ShardReply part, Report(*worker, 4));
    EXPECT_FALSE(part.committed());
  }
  EXPECT_THAT(FindNewestCheckpoint(run_dir_.path()),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(const ShardReply whole, Report(second_, 4));
  EXPECT_TRUE(whole.committed());
  ASSERT_OK_AND_ASSIGN(const auto newest,
                       FindNewestCheckpoint(run_dir_.path()));
  ASSERT_EQ(newest.manifest.files_size(), 3);
  EXPECT_EQ(newest.manifest.files(0).name(), "discriminator-0");
  EXPECT_EQ(newest.manifest.files(1).name(), "generator-0");
  EXPECT_EQ(newest.manifest.files(2).name(), "generator-1");
}

TEST_F(CoordinatorFleetTest, AShardThatOneRankCannotWriteEndsTheCheckpoint) {
  StartFleet();
  ASSERT_OK(Report(generator_, 4));
  ASSERT_OK(Report(discriminator_, 4));
  ShardReport failed;
  failed.set_incarnation(second_.incarnation);
  failed.set_run_epoch(second_.run_epoch);
  failed.set_step(4);
  failed.set_error("disk full");
  ASSERT_OK_AND_ASSIGN(const ShardReply reply,
                       coordinator_->ReportShard(failed));
  EXPECT_FALSE(reply.committed());
  EXPECT_THAT(TakeEvents(),
              Contains(AllOf(HasSubstr("4 rounds could not be written"),
                             HasSubstr("disk full"))));
  EXPECT_FALSE(
      PathExists(PendingCheckpointPath(run_dir_.path(), 4, second_.run_epoch)));
}

TEST_F(CoordinatorFleetTest, TheCutIsARoundAtWhichAllRanksHaveTheSameState) {
  options_.epoch.rounds = 12;
  options_.epoch.rounds_to_agreement = 4;
  StartFleet();
  coordinator_->RequestStop("enough");
  ASSERT_OK(SendPaused(generator_, 4, 4));
  ASSERT_OK(SendPaused(second_, 4, 4));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       SendPaused(discriminator_, 3, 4));
  ASSERT_TRUE(reply.has_cut());
  EXPECT_EQ(reply.cut(), 7);
}

TEST_F(CoordinatorFleetTest, ACutAtAnAgreementIsKept) {
  options_.epoch.rounds = 12;
  options_.epoch.rounds_to_agreement = 4;
  for (const int64_t started : {-1, 3}) {
    options_.run_dir = (run_dir_ / absl::StrCat("run", started + 1));
    ASSERT_OK(CreateDirectories(options_.run_dir));
    StartFleet();
    coordinator_->RequestStop("enough");
    for (PlayedWorker* worker : {&generator_, &second_}) {
      ASSERT_OK(SendPaused(*worker, started, started + 1));
    }
    ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                         SendPaused(discriminator_, started, started + 1));
    EXPECT_EQ(reply.cut(), started);
  }
}

}  // namespace
}  // namespace gandem
