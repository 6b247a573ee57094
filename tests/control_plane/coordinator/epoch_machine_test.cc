// SPDX-License-Identifier: Apache-2.0
//
// Tests the state machine of a run without files, clocks and threads.
#include "control_plane/coordinator/epoch_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Phase = EpochMachine::Phase;

constexpr WorkerKey kGeneratorPlace = {GENERATOR, 0};
constexpr WorkerKey kFirstDiscriminator = {DISCRIMINATOR, 0};
constexpr WorkerKey kSecondDiscriminator = {DISCRIMINATOR, 1};
constexpr auto kAskAgain = absl::StatusCode::kUnavailable;

class EpochMachineTest : public ::testing::Test {
 protected:
  explicit EpochMachineTest(bool elastic = false)
      : machine_({.rounds = 10,
                  .workers = {kGeneratorPlace, kFirstDiscriminator,
                              kSecondDiscriminator},
                  .external = true,
                  .elastic = elastic,
                  .grace = absl::Seconds(10),
                  .restart_budget = 3},
                 RunCounters()) {}

  EpochEffects On(const EpochEvent& event) { return machine_.On(event, now_); }
  // Reports that the run epoch was written to disk.
  void Begin(const EpochStart& start, int64_t first_round = 0) {
    On(EpochBegun{
        .start = start, .run_epoch = ++run_epoch_, .first_round = first_round});
  }
  EpochEffects Come(WorkerKey key, std::optional<int64_t> held_rounds = {}) {
    RegisterRequest request;
    request.set_role(key.role);
    request.set_rank(key.rank);
    request.set_previous_incarnation(machine_.members().Find(key)->incarnation);
    request.set_holds_state(held_rounds.has_value());
    request.set_round(held_rounds.value_or(0));
    EpochEffects effects = On(WorkerCame{request});
    if (effects.verdict.ok() && !effects.start.has_value()) {
      On(WorkerAdmitted{request, ++incarnation_});
    }
    return effects;
  }
  EpochEffects Join(WorkerKey key) {
    JoinRequest request;
    request.set_exchange_address("unix:/e");
    return On(WorkerJoined{key, request});
  }
  void Run() {
    Begin({});
    for (const WorkerKey key : kAll) ASSERT_OK(Come(key).verdict);
    for (const WorkerKey key : kAll) Join(key);
    ASSERT_EQ(machine_.phase(), Phase::kRunning);
  }
  EpochEffects Progress(WorkerKey key, int64_t completed, bool paused = false) {
    HeartbeatRequest request;
    request.set_started_round(completed - 1);
    request.set_completed_rounds(completed);
    request.set_paused(paused);
    return On(WorkerProgressed{key, request});
  }
  EpochEffects Die(WorkerKey key, int exit_code = kExitInternal) {
    return On(WorkerDied{.key = key,
                         .why = "was killed",
                         .exit_code = exit_code,
                         .process_is_gone = true});
  }
  // Reports the shards of all workers.
  std::optional<CheckpointCommits::Job> ReportAll(int64_t step) {
    for (const WorkerKey key : kAll) {
      ShardReport report;
      report.set_step(step);
      report.add_files()->set_name(ToString(key));
      EXPECT_OK(On(ShardReported{key, report}).verdict);
    }
    return machine_.TakeJob(now_);
  }

  static constexpr WorkerKey kAll[] = {kGeneratorPlace, kFirstDiscriminator,
                                       kSecondDiscriminator};
  EpochMachine machine_;
  absl::Time now_ = absl::FromUnixSeconds(1000);
  int64_t run_epoch_ = 0;
  int64_t incarnation_ = 0;
};

class ElasticMachineTest : public EpochMachineTest {
 protected:
  ElasticMachineTest() : EpochMachineTest(/*elastic=*/true) {}
};

TEST_F(EpochMachineTest, RoundsBeginWhenAllMembersHaveJoined) {
  Begin({});
  EXPECT_EQ(machine_.phase(), Phase::kGathering);
  for (const WorkerKey key : kAll) ASSERT_OK(Come(key).verdict);
  EXPECT_FALSE(Join(kGeneratorPlace).rounds_begin);
  EXPECT_FALSE(Join(kFirstDiscriminator).rounds_begin);
  EXPECT_EQ(machine_.phase(), Phase::kGathering);
  EXPECT_TRUE(Join(kSecondDiscriminator).rounds_begin);
  EXPECT_EQ(machine_.phase(), Phase::kRunning);
}

TEST_F(EpochMachineTest, DeathRequestsAStartFromTheCheckpoint) {
  Run();
  const EpochEffects effects = Die(kSecondDiscriminator);
  ASSERT_TRUE(effects.start.has_value());
  EXPECT_FALSE(effects.start->from_memory);
  // The epoch begins only when it is on disk.
  EXPECT_THAT(Come(kGeneratorPlace).verdict, StatusIs(kAskAgain));
  Begin(*effects.start);
  EXPECT_EQ(machine_.phase(), Phase::kGathering);
  EXPECT_OK(Come(kGeneratorPlace).verdict);
}

TEST_F(EpochMachineTest, FailedStartsAreRetriedUntilTheGraceIsOver) {
  Run();
  Die(kGeneratorPlace);
  EXPECT_THAT(On(EpochFailed{absl::ResourceExhaustedError("full")}).news,
              ElementsAre(HasSubstr("the run epoch cannot begin: full")));
  EXPECT_FALSE(On(TimePassed()).start.has_value());
  now_ += absl::Seconds(1);
  EXPECT_TRUE(On(TimePassed()).start.has_value());
  now_ += absl::Seconds(10);
  On(EpochFailed{absl::ResourceExhaustedError("full")});
  EXPECT_EQ(machine_.phase(), Phase::kOver);
  EXPECT_EQ(machine_.outcome()->exit_code, kExitResumable);
}

TEST_F(EpochMachineTest, UnrecoverableDisksEndTheRun) {
  Run();
  Die(kGeneratorPlace);
  On(EpochFailed{absl::DataLossError("all checkpoints are damaged")});
  ASSERT_EQ(machine_.phase(), Phase::kOver);
  EXPECT_EQ(machine_.outcome()->state, StatusReply::FAILED);
}

TEST_F(EpochMachineTest, SecondDeathBelongsToTheEpochOfTheFirst) {
  Run();
  const auto job = ReportAll(4);
  ASSERT_TRUE(job.has_value());
  EXPECT_FALSE(
      Die(kGeneratorPlace).start.has_value());  // a commit is in progress
  EXPECT_FALSE(Die(kFirstDiscriminator).start.has_value());
  On(CheckpointWritten{*job, absl::OkStatus()});
  const EpochEffects settled = On(CheckpointSettled{*job, absl::OkStatus()});
  ASSERT_TRUE(settled.start.has_value());
  EXPECT_EQ(machine_.restarts(), 1);
  const EpochEffects begun =
      On(EpochBegun{.start = *settled.start, .run_epoch = 2, .first_round = 4});
  EXPECT_FALSE(begun.start.has_value());  // caused by the first death
  EXPECT_EQ(machine_.restarts(), 1);
  EXPECT_EQ(machine_.first_round(), 4);
}

TEST_F(EpochMachineTest, StopEndsWithTheCheckpointAtTheCut) {
  Run();
  On(StopWanted{"Ctrl-C"});
  EXPECT_EQ(machine_.phase(), Phase::kStopping);
  Progress(kGeneratorPlace, 3, /*paused=*/true);
  Progress(kFirstDiscriminator, 2, /*paused=*/true);
  EXPECT_EQ(machine_.stopping().cut(), std::nullopt);
  Progress(kSecondDiscriminator, 3, /*paused=*/true);
  EXPECT_EQ(machine_.stopping().cut(), 2);
  const auto job = ReportAll(3);
  ASSERT_TRUE(job.has_value());
  On(CheckpointWritten{*job, absl::OkStatus()});
  On(CheckpointSettled{*job, absl::OkStatus()});
  ASSERT_EQ(machine_.phase(), Phase::kOver);
  EXPECT_EQ(machine_.outcome()->detail,
            "Ctrl-C. The newest checkpoint has 3 of 10 rounds");
}

TEST_F(EpochMachineTest, DeathWhileStoppingEndsTheRun) {
  Run();
  On(StopWanted{"Ctrl-C"});
  Die(kGeneratorPlace);
  ASSERT_EQ(machine_.phase(), Phase::kOver);
  EXPECT_EQ(machine_.outcome()->exit_code, kExitResumable);
}

TEST_F(EpochMachineTest, DivergenceEndsWhenTheLastGoodCheckpointIsMarked) {
  Run();
  EXPECT_TRUE(Die(kGeneratorPlace, kExitDiverged).mark_last_good);
  EXPECT_FALSE(machine_.outcome().has_value());
  On(LastGoodMarked{6});
  ASSERT_EQ(machine_.phase(), Phase::kOver);
  EXPECT_THAT(machine_.outcome()->detail,
              HasSubstr("checkpoints/last-good is that of step 6"));
}

TEST_F(EpochMachineTest, RestartsHaveABudget) {
  Run();
  for (int death = 0; death < 3; ++death) {
    const EpochEffects effects = Die(kGeneratorPlace);
    ASSERT_TRUE(effects.start.has_value()) << death;
    Begin(*effects.start);
    ASSERT_OK(Come(kGeneratorPlace).verdict);
  }
  Die(kGeneratorPlace);
  ASSERT_EQ(machine_.phase(), Phase::kOver);
  EXPECT_THAT(machine_.outcome()->detail, HasSubstr("is used up"));
}

TEST_F(ElasticMachineTest, OtherWorkersContinueFromMemory) {
  Run();
  const EpochEffects lost = Die(kSecondDiscriminator);
  ASSERT_TRUE(lost.start.has_value());
  EXPECT_TRUE(lost.start->from_memory);
  Begin(*lost.start);
  EXPECT_THAT(Come(kGeneratorPlace, 7).verdict, StatusIs(kAskAgain));
  EXPECT_OK(Come(kFirstDiscriminator, 6).verdict);
  EXPECT_EQ(machine_.first_round(), 6);
  EXPECT_OK(Come(kGeneratorPlace, 7).verdict);
  Join(kGeneratorPlace);
  EXPECT_THAT(Join(kFirstDiscriminator).news,
              Contains(HasSubstr("its fleet goes on with 1 of 2 workers at "
                                 "round 6")));
  // The worker returns, so the fleets re-form again.
  const EpochEffects back = Come(kSecondDiscriminator);
  ASSERT_TRUE(back.start.has_value());
  EXPECT_TRUE(back.start->from_memory);
}

TEST_F(ElasticMachineTest, FleetsWithoutAWorkerStartFromTheCheckpoint) {
  Run();
  const EpochEffects effects = Die(kGeneratorPlace);
  ASSERT_TRUE(effects.start.has_value());
  EXPECT_FALSE(effects.start->from_memory);
}

TEST_F(ElasticMachineTest, DifferentStatesAreNotContinued) {
  Run();
  const EpochEffects effects = On(WorkerDied{.key = kSecondDiscriminator,
                                             .why = "differs",
                                             .exit_code = kExitDamaged,
                                             .states_differ = true});
  ASSERT_TRUE(effects.start.has_value());
  EXPECT_FALSE(effects.start->from_memory);
}

}  // namespace
}  // namespace gandem
