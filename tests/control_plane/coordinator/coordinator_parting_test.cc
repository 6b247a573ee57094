// SPDX-License-Identifier: Apache-2.0
//
// Workers of a role whose states differ at a checkpoint.
#include <gmock/gmock.h>

#include "common/checkpoint/checkpoint_shards.h"
#include "tests/control_plane/coordinator/coordinator_fixture.h"

namespace gandem {
namespace {

using ::gandem::testing::PlayedWorker;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kGood[] = "00000001";

// Tests with one generator and several discriminators.
class CoordinatorPartingTest : public ::gandem::testing::CoordinatorFixture {
 protected:
  void StartFleet(int discriminators) {
    options_.epoch.workers = {{GENERATOR, 0}};
    fleet_.resize(discriminators);
    for (int rank = 0; rank < discriminators; ++rank) {
      fleet_[rank].key = {DISCRIMINATOR, rank};
      options_.epoch.workers.push_back(fleet_[rank].key);
    }
    Open();
    JoinAll();
  }
  std::vector<PlayedWorker*> Everybody() {
    std::vector<PlayedWorker*> all = {&generator_};
    for (PlayedWorker& worker : fleet_) all.push_back(&worker);
    return all;
  }
  RegisterReply JoinAll() {
    RegisterReply last;
    for (PlayedWorker* worker : Everybody()) {
      if (worker->pid == 0) Launch(*worker);
      const auto reply = Register(*worker);
      EXPECT_OK(reply);
      if (reply.ok()) last = *reply;
    }
    for (PlayedWorker* worker : Everybody()) {
      JoinRequest request;
      request.set_proof(Proof());
      request.set_incarnation(worker->incarnation);
      request.set_run_epoch(worker->run_epoch);
      if (worker->key.role == DISCRIMINATOR) {
        request.set_exchange_address("unix:/exchange");
        if (fleet_.size() > 1) request.set_fleet_local_address("unix:/fleet");
      }
      EXPECT_OK(coordinator_->Join(request));
    }
    EXPECT_EQ(State(), StatusReply::RUNNING);
    return last;
  }
  // Reports the discriminator's shard, with the checksum of its 'model.w', like
  // a worker.
  void ReportState(const PlayedWorker& worker, int position, int64_t step,
                   const std::string& checksum) {
    const TensorChecksums checksums = {{"model.a", kGood},
                                       {"model.w", checksum}};
    const std::string folder =
        PendingCheckpointPath(run_dir_.path(), step, worker.run_epoch);
    ASSERT_OK(CreateDirectories(folder));
    ShardReport report;
    report.set_incarnation(worker.incarnation);
    report.set_run_epoch(worker.run_epoch);
    report.set_step(step);
    CheckpointFile* const file = report.add_files();
    file->set_name(ShardName("discriminator", position));
    ASSERT_OK_AND_ASSIGN(
        const FileSummary summary,
        WriteSafetensors(absl::StrCat(folder, "/", file->name()), {},
                         checksums));
    file->set_size(summary.size);
    file->set_crc32c(summary.crc32c);
    file->set_state_crc32c(StateChecksum(checksums));
    ASSERT_OK(coordinator_->ReportShard(report));
  }
  // Reports the checkpoint of all; `checksums` are the discriminators'.
  void ReportAll(int64_t step, const std::vector<std::string>& checksums) {
    ASSERT_OK(Report(generator_, step));
    for (size_t i = 0; i < checksums.size(); ++i) {
      ReportState(fleet_[i], static_cast<int>(i), step, checksums[i]);
    }
  }
  int64_t CommittedStep() {
    return coordinator_->Status().last_checkpoint_step();
  }

  std::vector<PlayedWorker> fleet_;
};

TEST_F(CoordinatorPartingTest, EqualStatesAreCommittedAndRecorded) {
  StartFleet(3);
  ReportAll(4, {kGood, kGood, kGood});
  EXPECT_EQ(CommittedStep(), 4);
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest,
                       ReadManifest(CheckpointPath(run_dir_.path(), 4)));
  const TensorChecksums checksums = {{"model.a", kGood}, {"model.w", kGood}};
  for (const CheckpointFile& file : manifest.files()) {
    EXPECT_EQ(file.has_state_crc32c(), file.name() != "generator-0");
    if (!file.has_state_crc32c()) continue;
    EXPECT_EQ(file.state_crc32c(), StateChecksum(checksums));
  }
}

TEST_F(CoordinatorPartingTest, TheRunReturnsToTheLastEqualCheckpoint) {
  StartFleet(3);
  ReportAll(4, {kGood, kGood, kGood});
  ReportAll(6, {kGood, "00000002", kGood});
  EXPECT_EQ(CommittedStep(), 4);
  EXPECT_FALSE(PathExists(CheckpointPath(run_dir_.path(), 6)));
  EXPECT_THAT(
      TakeEvents(),
      Contains(AllOf(HasSubstr("new run epoch: the states of the discriminator "
                               "workers differ after round 5 in 'model.w'"),
                     HasSubstr("discriminator 1 on here differs from most of "
                               "its fleet"),
                     Not(HasSubstr("model.a")))));
  EXPECT_EQ(coordinator_->Status().restarts(), 1);
  for (PlayedWorker* worker : Everybody()) {
    ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Send(*worker, 6, 6));
    EXPECT_TRUE(reply.epoch_superseded());
  }
  EXPECT_EQ(JoinAll().first_round(), 4);
  ReportAll(6, {kGood, kGood, kGood});
  EXPECT_EQ(CommittedStep(), 6);
}

TEST_F(CoordinatorPartingTest, ALateCheckpointOfAnOlderEpochIsRemoved) {
  StartFleet(3);
  ReportAll(4, {kGood, "00000002", kGood});
  const std::string late =
      PendingCheckpointPath(run_dir_.path(), 8, generator_.run_epoch);
  ASSERT_OK(CreateDirectories(late));
  JoinAll();
  EXPECT_FALSE(PathExists(late));
}

TEST_F(CoordinatorPartingTest, WithTwoWorkersTheFaultyOneIsUnknown) {
  StartFleet(2);
  ReportAll(4, {kGood, "00000002"});
  EXPECT_THAT(TakeEvents(), Contains(HasSubstr(
                                "discriminator 0 on here and discriminator 1 "
                                "on here cannot tell which of them is right")));
  EXPECT_EQ(JoinAll().resume_from(), "");
}

TEST_F(CoordinatorPartingTest, TheLastCheckpointDoesNotEndTheRun) {
  StartFleet(2);
  ReportAll(4, {kGood, kGood});
  ReportAll(10, {"00000002", kGood});
  for (PlayedWorker* worker : Everybody()) ASSERT_OK(SendFinished(*worker));
  EXPECT_EQ(coordinator_->outcome(), std::nullopt);
  EXPECT_EQ(JoinAll().first_round(), 4);
  ReportAll(10, {kGood, kGood});
  for (PlayedWorker* worker : Everybody()) ASSERT_OK(SendFinished(*worker));
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitOk);
}

TEST_F(CoordinatorPartingTest, ARunThatIsStoppingKeepsTheCheckpointBefore) {
  StartFleet(2);
  ReportAll(4, {kGood, kGood});
  coordinator_->RequestStop("Ctrl-C");
  for (PlayedWorker* worker : Everybody()) {
    ASSERT_OK(SendPaused(*worker, 5, 5));
  }
  ReportAll(6, {kGood, "00000002"});
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
  EXPECT_THAT(coordinator_->outcome()->detail,
              AllOf(HasSubstr("'model.w'"),
                    HasSubstr("newest checkpoint has 4 of 10 rounds")));
}

// A comparison between two checkpoints counts like one at a checkpoint: no
// worker continues from memory.
TEST_F(CoordinatorPartingTest, WorkersReportDifferingStatesThemselves) {
  options_.epoch.elastic = true;
  StartFleet(3);
  ReportAll(4, {kGood, kGood, kGood});
  for (PlayedWorker& worker : fleet_) {
    HeartbeatRequest request = Beat(worker, 5, 5);
    request.set_failure("DATA_LOSS: the states of this fleet differ");
    request.set_failure_exit_code(kExitDamaged);
    request.set_states_differ(true);
    ASSERT_OK(coordinator_->Heartbeat(request));
  }
  for (PlayedWorker& worker : fleet_) {
    Exit(worker, 74, "exited with 74");
    worker = {.key = worker.key};
  }
  const RegisterReply last = JoinAll();
  EXPECT_EQ(last.first_round(), 4);
  EXPECT_FALSE(last.keep_state());
  EXPECT_EQ(coordinator_->outcome(), std::nullopt);
}

TEST_F(CoordinatorPartingTest, ADifferingCpuUsesUpTheBudget) {
  options_.epoch.restart_budget = 2;
  StartFleet(2);
  for (int time = 0; time < 3; ++time) {
    EXPECT_EQ(coordinator_->outcome(), std::nullopt);
    ReportAll(4, {kGood, "00000002"});
    if (time < 2) JoinAll();
  }
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitInternal);
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("the budget of 2 restarts is used up"));
}

}  // namespace
}  // namespace gandem
