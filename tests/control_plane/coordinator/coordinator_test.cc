// SPDX-License-Identifier: Apache-2.0
//
// Tests registration, checkpoints, stopping and finishing.
// coordinator_epochs_test.cc tests deaths and restarts.
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
using ::testing::Not;

class CoordinatorTest : public ::gandem::testing::CoordinatorFixture {};

TEST_F(CoordinatorTest, TheLauncherIsAskedToStartEveryWorker) {
  Open();
  EXPECT_THAT(coordinator_->TakeWishes().start,
              ElementsAre(kGenerator, kDiscriminator));
  Launch(generator_);
  EXPECT_THAT(coordinator_->TakeWishes().start, ElementsAre(kDiscriminator));
}

TEST_F(CoordinatorTest, RegistrationDescribesTheRun) {
  Open();
  Launch(generator_);
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(generator_));
  EXPECT_EQ(reply.config_text(), options_.config_text);
  EXPECT_EQ(reply.run_dir(), run_dir_.path());
  EXPECT_EQ(reply.resume_from(), "");
  EXPECT_EQ(reply.first_round(), 0);
  EXPECT_EQ(reply.run_epoch(), 1);
  EXPECT_GT(reply.incarnation(), 0);
}

TEST_F(CoordinatorTest, CountersAreOnDiskBeforeTheyAreUsed) {
  Open();
  Launch(generator_);
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(generator_));
  ASSERT_OK_AND_ASSIGN(const RunCounters counters,
                       RunFolder(run_dir_.path()).ReadCounters());
  EXPECT_EQ(counters.run_epoch(), reply.run_epoch());
  EXPECT_EQ(counters.incarnation(), 1);  // number of incarnations
  ASSERT_EQ(counters.places_size(), 1);
  EXPECT_EQ(counters.places(0).incarnation(), reply.incarnation());
}

TEST_F(CoordinatorTest, CountersAreNeverUsedTwice) {
  StartRun();
  const int64_t epoch = generator_.run_epoch;
  const int64_t incarnation = generator_.incarnation;
  Open();  // a new `gandem` on the same run folder
  Launch(generator_);
  ASSERT_OK_AND_ASSIGN(const RegisterReply reply, Register(generator_));
  EXPECT_GT(reply.run_epoch(), epoch);
  EXPECT_NE(reply.incarnation(), incarnation);
  EXPECT_NE(reply.incarnation(), discriminator_.incarnation);
}

TEST_F(CoordinatorTest, DamagedCountersAreRejected) {
  ASSERT_OK(CreateDirectories(run_dir_ / "state"));
  ASSERT_OK(WriteFile(run_dir_ / "state/counters.textproto", "run_epoch: x"));
  EXPECT_THAT(Coordinator::Create(options_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("counters")));
}

TEST_F(CoordinatorTest, UnknownPlacesAreNamed) {
  Open();
  PlayedWorker stranger = {.key = {DISCRIMINATOR, 3}};
  EXPECT_THAT(Register(stranger),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "this run has no discriminator 3; it has generator 0, "
                       "discriminator 0"));
}

TEST_F(CoordinatorTest, OtherReleasesAreRejected) {
  const std::string why =
      "generator 0 on here is of gandem '0.0.1', this run of 'new'";
  options_.binary_version = "new";
  Open();
  Launch(generator_);
  RegisterRequest request = Registration(generator_);
  request.set_binary_version("0.0.1");
  // Only the operator may see the releases; the caller may be a stranger.
  EXPECT_THAT(coordinator_->Register(request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("start workers of the same release"),
                             Not(HasSubstr("'new'")))));
  EXPECT_THAT(TakeEvents(), Contains(HasSubstr(why)));
  EXPECT_OK(Register(generator_));
}

TEST_F(CoordinatorTest, ReplacedProcessesAreReported) {
  options_.epoch.external = true;
  Open();
  PlayedWorker first = {.key = kGenerator, .pid = 11};
  PlayedWorker second = {.key = kGenerator, .pid = 12};
  ASSERT_OK(Register(first));
  ASSERT_OK(Register(first));  // the reply was lost
  EXPECT_THAT(TakeEvents(), Not(Contains(HasSubstr("takes the place"))));
  ASSERT_OK(Register(second));
  EXPECT_THAT(TakeEvents(),
              Contains("generator 0: process 12 on here takes the place of "
                       "process 11 on here"));
  EXPECT_THAT(Join(first), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("its role and rank")));
}

TEST_F(CoordinatorTest, StrangersCannotTakeThePlaceOfALaunchedWorker) {
  Open();
  PlayedWorker stranger = {.key = kGenerator, .pid = 1};
  // The launched worker is unknown yet, so an early caller may try again.
  EXPECT_THAT(Register(stranger), StatusIs(absl::StatusCode::kUnavailable));
  Launch(generator_);
  EXPECT_THAT(
      Register(stranger),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--external")));
  EXPECT_OK(Register(generator_));
}

// The launcher's child has another PID than the worker that it starts.
TEST_F(CoordinatorTest, WorkersStartedElsewhereHaveTheirOwnPid) {
  options_.starts_elsewhere = true;
  Open();
  PlayedWorker remote = {.key = kGenerator, .pid = 1};
  EXPECT_THAT(Register(remote), StatusIs(absl::StatusCode::kUnavailable));
  Launch(generator_);
  ASSERT_NE(generator_.pid, remote.pid);
  EXPECT_OK(Register(remote));
  // The replaced process is refused, however late it registers.
  PlayedWorker next = {.key = kGenerator, .pid = 2};
  ASSERT_OK(Register(next));
  EXPECT_THAT(Register(remote),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(CoordinatorTest, NoWorkerStartsBeforeAllHaveJoined) {
  Open();
  Launch(generator_);
  Launch(discriminator_);
  ASSERT_OK(Register(generator_));
  ASSERT_OK_AND_ASSIGN(JoinReply reply, Join(generator_));
  EXPECT_FALSE(reply.all_joined());
  ASSERT_OK(Register(discriminator_));
  ASSERT_OK_AND_ASSIGN(reply, Join(generator_));
  EXPECT_FALSE(reply.all_joined());
  EXPECT_EQ(State(), StatusReply::STARTING);
  ASSERT_OK_AND_ASSIGN(reply, Join(discriminator_));
  EXPECT_TRUE(reply.all_joined());
  ASSERT_OK_AND_ASSIGN(reply, Join(generator_));
  EXPECT_TRUE(reply.all_joined());
  EXPECT_THAT(reply.discriminator_addresses(),
              ElementsAre("unix:/tmp/exchange"));
  EXPECT_EQ(State(), StatusReply::RUNNING);
}

TEST_F(CoordinatorTest, GeneratorsGetTheDiscriminatorsComputeSettings) {
  Open();
  Launch(generator_);
  Launch(discriminator_);
  ASSERT_OK(Register(generator_));
  ASSERT_OK(Register(discriminator_));
  JoinRequest request;
  request.set_proof(Proof());
  request.set_incarnation(discriminator_.incarnation);
  request.set_run_epoch(discriminator_.run_epoch);
  request.set_exchange_address("unix:/tmp/exchange");
  request.mutable_compute()->set_precision(RoleConfig::BFLOAT16);
  request.mutable_compute()->set_layout(CHANNELS_LAST);
  ASSERT_OK(coordinator_->Join(request));
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(generator_));
  EXPECT_EQ(reply.discriminator_compute().precision(), RoleConfig::BFLOAT16);
  EXPECT_EQ(reply.discriminator_compute().layout(), CHANNELS_LAST);
}

TEST_F(CoordinatorTest, JoinChecksTheExchangeAddress) {
  Open();
  Launch(discriminator_);
  ASSERT_OK(Register(discriminator_));
  JoinRequest request;
  request.set_proof(Proof());
  request.set_incarnation(discriminator_.incarnation);
  request.set_run_epoch(discriminator_.run_epoch);
  EXPECT_THAT(coordinator_->Join(request),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(CoordinatorTest, WorkersThatSeeAnotherFolderAreRejected) {
  Open();
  Launch(generator_);
  ASSERT_OK_AND_ASSIGN(const RegisterReply registered, Register(generator_));
  EXPECT_FALSE(registered.proof_file().empty());
  JoinRequest request;
  request.set_incarnation(generator_.incarnation);
  request.set_run_epoch(generator_.run_epoch);
  EXPECT_THAT(
      coordinator_->Join(request),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(run_dir_.path())));
  request.set_proof(Proof());
  EXPECT_OK(coordinator_->Join(request));
}

class CoordinatorHostsTest : public CoordinatorTest {
 protected:
  CoordinatorHostsTest() { options_.epoch.external = true; }
  void RegisterAt(PlayedWorker& worker, const std::string& host) {
    RegisterRequest request = Registration(worker);
    request.set_host(host);
    ASSERT_OK_AND_ASSIGN(const RegisterReply reply,
                         coordinator_->Register(request));
    worker.incarnation = reply.incarnation();
    worker.run_epoch = reply.run_epoch();
  }
  absl::StatusOr<JoinReply> JoinWithAddress(const std::string& address) {
    JoinRequest request;
    request.set_proof(Proof());
    request.set_incarnation(discriminator_.incarnation);
    request.set_run_epoch(discriminator_.run_epoch);
    request.set_exchange_address(address);
    return coordinator_->Join(request);
  }
  static auto IsRefused() {
    return StatusIs(
        absl::StatusCode::kInvalidArgument,
        "discriminator 0 on b serves a unix socket, which generator 0 on a "
        "cannot reach: pass --listen HOST:PORT to the discriminator worker");
  }
};

TEST_F(CoordinatorHostsTest, UnixSocketsDoNotServeOtherHosts) {
  Open();
  RegisterAt(generator_, "a");
  RegisterAt(discriminator_, "b");
  EXPECT_THAT(JoinWithAddress("unix:/tmp/exchange"), IsRefused());
  ASSERT_OK(Join(generator_));
  EXPECT_EQ(State(), StatusReply::STARTING);
  RegisterAt(discriminator_, "b");  // restarted
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, JoinWithAddress("b:7000"));
  EXPECT_TRUE(reply.all_joined());
}

TEST_F(CoordinatorHostsTest, GeneratorsOnAnotherHostMayJoinLater) {
  Open();
  RegisterAt(discriminator_, "b");
  ASSERT_OK(JoinWithAddress("unix:/tmp/exchange"));
  RegisterAt(generator_, "a");
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(generator_));
  EXPECT_FALSE(reply.all_joined());
  EXPECT_THAT(JoinWithAddress("unix:/tmp/exchange"), IsRefused());
}

TEST_F(CoordinatorHostsTest, EarlierHostOfAGeneratorDoesNotMatter) {
  Open();
  RegisterAt(generator_, "a");
  RegisterAt(discriminator_, "b");
  ASSERT_OK(JoinWithAddress("b:7000"));
  ASSERT_OK(Join(generator_));
  RegisterAt(discriminator_, "b");  // starts a new epoch
  ASSERT_OK(JoinWithAddress("unix:/tmp/exchange"));
  RegisterAt(generator_, "b");
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(generator_));
  EXPECT_TRUE(reply.all_joined());
}

TEST_F(CoordinatorTest, LostRepliesToRegisterAreNoDeaths) {
  Open();
  Launch(generator_);
  ASSERT_OK(Register(generator_));
  const int64_t lost = generator_.incarnation;
  generator_.incarnation = 0;  // the reply was lost
  ASSERT_OK(Register(generator_));
  EXPECT_NE(generator_.incarnation, lost);
  EXPECT_EQ(generator_.run_epoch, 1);
  PlayedWorker old = generator_;
  old.incarnation = lost;
  EXPECT_THAT(Join(old), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(CoordinatorTest, HeartbeatsOutOfRangeChangeNothing) {
  StartRun();
  for (const auto& [started, completed] :
       std::vector<std::pair<int64_t, int64_t>>{{-2, 0},
                                                {10, 10},
                                                {3, 5},
                                                {3, -1},
                                                {INT64_MAX, 0},
                                                {INT64_MIN, 0}}) {
    EXPECT_THAT(Send(generator_, started, completed),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(Send({.key = kGenerator, .run_epoch = 1}, 0, 0),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(coordinator_->Status().completed_rounds(), 0);
}

TEST_F(CoordinatorTest, UnknownIncarnationsAreRejected) {
  StartRun();
  PlayedWorker zombie = generator_;
  zombie.incarnation = 999;
  EXPECT_THAT(Send(zombie, 0, 0),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Report(zombie, 2),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(CoordinatorTest, StatusShowsTheSlowestWorker) {
  StartRun();
  ASSERT_OK(Send(generator_, 5, 5));
  ASSERT_OK(Send(discriminator_, 4, 3));
  clock_.Advance(absl::Seconds(2));
  const StatusReply status = coordinator_->Status();
  EXPECT_EQ(status.completed_rounds(), 3);
  EXPECT_EQ(status.rounds(), 10);
  ASSERT_EQ(status.workers_size(), 2);
  EXPECT_EQ(status.workers(0).role(), GENERATOR);
  EXPECT_EQ(status.workers(0).pid(), generator_.pid);
  EXPECT_EQ(status.workers(0).state(), WorkerStatus::RUNNING);
  EXPECT_EQ(status.workers(0).silent_seconds(), 2);
}

// --- Checkpoints ---

TEST_F(CoordinatorTest, CheckpointIsCompleteWhenAllHaveReported) {
  StartRun();
  ASSERT_OK_AND_ASSIGN(ShardReply reply, Report(generator_, 4));
  EXPECT_FALSE(reply.committed());
  EXPECT_THAT(FindNewestCheckpoint(run_dir_.path()),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(reply, Report(discriminator_, 4));
  EXPECT_TRUE(reply.committed());
  ASSERT_OK_AND_ASSIGN(const auto newest,
                       FindNewestCheckpoint(run_dir_.path()));
  EXPECT_EQ(newest.step, 4);
  EXPECT_EQ(newest.manifest.config_hash(), 7);
  EXPECT_EQ(newest.manifest.files_size(), 2);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply beat, Send(generator_, 4, 4));
  EXPECT_EQ(beat.committed_step(), 4);
}

TEST_F(CoordinatorTest, RepeatedReportsAreAnsweredAlike) {
  StartRun();
  const ShardReport report = WriteShard(generator_, 4);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const ShardReply reply,
                         coordinator_->ReportShard(report));
    EXPECT_FALSE(reply.committed());
  }
  ASSERT_OK(Report(discriminator_, 4));
  ASSERT_OK_AND_ASSIGN(const ShardReply reply,
                       coordinator_->ReportShard(report));
  EXPECT_TRUE(reply.committed());
}

TEST_F(CoordinatorTest, InvalidReportsChangeNothing) {
  StartRun();
  ASSERT_OK(Report(generator_, 4));
  for (const auto& [step, name] : std::vector<std::pair<int64_t, std::string>>{
           {0, "a"},
           {11, "a"},
           {4, "../a"},
           {4, ""},
           {4, "manifest.textproto"},
           {4, "generator-0"}}) {  // reported by the generator
    ShardReport report;
    report.set_incarnation(discriminator_.incarnation);
    report.set_run_epoch(discriminator_.run_epoch);
    report.set_step(step);
    report.add_files()->set_name(name);
    EXPECT_THAT(coordinator_->ReportShard(report),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << step << " " << name;
  }
  ASSERT_OK_AND_ASSIGN(const ShardReply reply, Report(discriminator_, 4));
  EXPECT_TRUE(reply.committed());
}

TEST_F(CoordinatorTest, UnwrittenShardsAbandonOnlyTheirCheckpoint) {
  StartRun();
  CommitStep(2);
  ShardReport failed;
  failed.set_incarnation(generator_.incarnation);
  failed.set_run_epoch(generator_.run_epoch);
  failed.set_step(4);
  failed.set_error("no space left on device");
  ASSERT_OK(coordinator_->ReportShard(failed));
  ASSERT_OK_AND_ASSIGN(ShardReply reply, Report(discriminator_, 4));
  EXPECT_FALSE(reply.committed());
  // The shard is removed, the older checkpoint is kept, and training continues.
  EXPECT_FALSE(PathExists(PendingCheckpointPath(run_dir_.path(), 4, 1)));
  ASSERT_OK_AND_ASSIGN(const auto newest,
                       FindNewestCheckpoint(run_dir_.path()));
  EXPECT_EQ(newest.step, 2);
  EXPECT_EQ(State(), StatusReply::RUNNING);
  EXPECT_THAT(coordinator_->Status().detail(),
              HasSubstr("no space left on device"));
  CommitStep(6);
}

TEST_F(CoordinatorTest, ShardsThatDifferFromTheirReportAreNotCommitted) {
  StartRun();
  ShardReport report = WriteShard(generator_, 4);
  report.mutable_files(0)->set_size(report.files(0).size() + 1);
  ASSERT_OK(coordinator_->ReportShard(report));
  ASSERT_OK_AND_ASSIGN(const ShardReply reply, Report(discriminator_, 4));
  EXPECT_FALSE(reply.committed());
  EXPECT_EQ(State(), StatusReply::RUNNING);
}

TEST_F(CoordinatorTest, OldCheckpointsArePruned) {
  options_.keep_last = 2;
  StartRun();
  for (const int64_t step : {1, 2, 3, 4}) CommitStep(step);
  ASSERT_OK_AND_ASSIGN(const auto names,
                       ListDirectory(run_dir_ / "checkpoints"));
  EXPECT_EQ(names.size(), 2);
}

// The run resumes from an older checkpoint, and stops before the damaged step.
TEST_F(CoordinatorTest, DamagedNewerCheckpointsDoNotCostGoodOnes) {
  StartRun();
  CommitStep(2);
  CommitStep(6);
  ASSERT_OK(WriteFile(CheckpointPath(run_dir_.path(), 6) + "/generator-0",
                      "generator-0 after 5"));  // of the same size
  options_.keep_last = 1;
  Open();
  generator_ = {.key = kGenerator};
  discriminator_ = {.key = kDiscriminator};
  StartRun();
  CommitStep(4);
  EXPECT_THAT(*ListCheckpoints(run_dir_.path()), ElementsAre(6, 4));
  EXPECT_THAT(TakeEvents(),
              Contains(HasSubstr("a damaged checkpoint was found")));
  CommitStep(5);
  EXPECT_THAT(*ListCheckpoints(run_dir_.path()), ElementsAre(6, 5));
}

// --- End of the run ---

TEST_F(CoordinatorTest, FinishesWhenAllHaveFinishedAndTheLastStepIsCommitted) {
  StartRun();
  ASSERT_OK(Report(generator_, 10));
  ASSERT_OK_AND_ASSIGN(HeartbeatReply reply, SendFinished(generator_));
  EXPECT_FALSE(reply.leave());  // still serves the discriminator
  ASSERT_OK(Report(discriminator_, 10));
  EXPECT_EQ(coordinator_->outcome(), std::nullopt);
  ASSERT_OK_AND_ASSIGN(reply, SendFinished(discriminator_));
  EXPECT_TRUE(reply.leave());
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitOk);
  EXPECT_EQ(State(), StatusReply::FINISHED);
  EXPECT_FALSE(coordinator_->outcome()->is_known_to_all);
  ASSERT_OK_AND_ASSIGN(reply, SendFinished(generator_));
  EXPECT_TRUE(reply.leave());
  EXPECT_TRUE(coordinator_->outcome()->is_known_to_all);
}

TEST_F(CoordinatorTest, RunsWithoutTheirFinalCheckpointAreNotFinished) {
  StartRun();
  CommitStep(8);
  ShardReport failed;
  failed.set_incarnation(generator_.incarnation);
  failed.set_run_epoch(generator_.run_epoch);
  failed.set_step(10);
  failed.set_error("no space left on device");
  ASSERT_OK(coordinator_->ReportShard(failed));
  ASSERT_OK(Report(discriminator_, 10));
  ASSERT_OK(SendFinished(generator_));
  ASSERT_OK(SendFinished(discriminator_));
  ASSERT_TRUE(coordinator_->outcome().has_value());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("The newest checkpoint has 8 of 10 rounds"));
}

TEST_F(CoordinatorTest, CompleteRunsAreFinishedFromTheStart) {
  StartRun();
  CommitStep(10);
  Open();
  EXPECT_EQ(State(), StatusReply::FINISHED);
  EXPECT_TRUE(coordinator_->TakeWishes().start.empty());
}

// --- Stopping ---

TEST_F(CoordinatorTest, CutIsTheLastRoundThatAnyWorkerHasStarted) {
  StartRun();
  ASSERT_OK(Send(generator_, 5, 5));
  ASSERT_OK(Send(discriminator_, 4, 4));
  coordinator_->RequestStop("Ctrl-C");
  EXPECT_EQ(State(), StatusReply::STOPPING);
  ASSERT_OK_AND_ASSIGN(HeartbeatReply reply, Send(generator_, 5, 5));
  EXPECT_TRUE(reply.pause());
  EXPECT_FALSE(reply.has_cut());
  ASSERT_OK_AND_ASSIGN(reply, SendPaused(generator_, 6, 6));
  EXPECT_FALSE(reply.has_cut());
  ASSERT_OK_AND_ASSIGN(reply, SendPaused(discriminator_, 4, 4));
  ASSERT_TRUE(reply.has_cut());
  EXPECT_EQ(reply.cut(), 6);
  EXPECT_FALSE(reply.leave());
  ASSERT_OK(Report(generator_, 7));
  ASSERT_OK_AND_ASSIGN(reply, SendPaused(generator_, 6, 7));
  EXPECT_EQ(reply.cut(), 6);
  EXPECT_FALSE(reply.leave());  // serves the discriminator's last rounds
  ASSERT_OK(Report(discriminator_, 7));
  ASSERT_OK_AND_ASSIGN(reply, SendPaused(discriminator_, 6, 7));
  EXPECT_TRUE(reply.leave());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
  EXPECT_EQ(State(), StatusReply::STOPPED);
  EXPECT_THAT(coordinator_->outcome()->detail, HasSubstr("Ctrl-C"));
}

TEST_F(CoordinatorTest, StopRequestsOfWorkersStopTheRun) {
  StartRun();
  HeartbeatRequest request = Beat(generator_, 3, 3);
  request.set_stop_requested(true);
  request.set_paused(true);
  ASSERT_OK_AND_ASSIGN(HeartbeatReply reply, coordinator_->Heartbeat(request));
  EXPECT_TRUE(reply.pause());
  ASSERT_OK_AND_ASSIGN(reply, SendPaused(discriminator_, 2, 2));
  EXPECT_EQ(reply.cut(), 3);
}

TEST_F(CoordinatorTest, StopBeforeTheFirstRoundNeedsNoCheckpoint) {
  StartRun();
  coordinator_->RequestStop("Ctrl-C");
  ASSERT_OK(SendPaused(generator_, -1, 0));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       SendPaused(discriminator_, -1, 0));
  EXPECT_TRUE(reply.leave());
  EXPECT_THAT(coordinator_->outcome()->detail,
              HasSubstr("There is no checkpoint yet"));
}

TEST_F(CoordinatorTest, StopAtACommittedStepNeedsNoCheckpoint) {
  StartRun();
  CommitStep(4);
  coordinator_->RequestStop("Ctrl-C");
  ASSERT_OK(SendPaused(generator_, 3, 4));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       SendPaused(discriminator_, 3, 4));
  EXPECT_TRUE(reply.leave());
  EXPECT_EQ(State(), StatusReply::STOPPED);
}

TEST_F(CoordinatorTest, StopInTheLastRoundFinishesTheRun) {
  StartRun();
  coordinator_->RequestStop("Ctrl-C");
  ASSERT_OK(Report(generator_, 10));
  ASSERT_OK(SendFinished(generator_));
  ASSERT_OK_AND_ASSIGN(HeartbeatReply reply, SendPaused(discriminator_, 8, 8));
  EXPECT_EQ(reply.cut(), 9);
  ASSERT_OK(Report(discriminator_, 10));
  ASSERT_OK_AND_ASSIGN(reply, SendFinished(discriminator_));
  EXPECT_TRUE(reply.leave());
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitOk);
}

TEST_F(CoordinatorTest, StopWhileWorkersStartEndsAtOnce) {
  Open();
  Launch(generator_);
  ASSERT_OK(Register(generator_));
  coordinator_->RequestStop("SIGTERM");
  EXPECT_EQ(coordinator_->outcome()->exit_code, kExitResumable);
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(generator_));
  EXPECT_TRUE(reply.leave());
  EXPECT_TRUE(coordinator_->outcome()->is_known_to_all);
  Launch(discriminator_);
  EXPECT_THAT(Register(discriminator_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the run is over")));
}

TEST_F(CoordinatorTest, GraceIsLimited) {
  options_.epoch.grace = absl::Seconds(30);
  StartRun();
  CommitStep(2);
  ASSERT_OK(Send(generator_, 5, 5));
  coordinator_->RequestStop("Ctrl-C");
  ASSERT_OK(SendPaused(generator_, 5, 5));
  LetTimePass(absl::Seconds(30));
  EXPECT_EQ(State(), StatusReply::STOPPING);
  LetTimePass(absl::Seconds(1));
  EXPECT_EQ(State(), StatusReply::STOPPED);
  EXPECT_THAT(coordinator_->outcome()->detail,
              AllOf(HasSubstr("control.grace_seconds"),
                    HasSubstr("The newest checkpoint has 2 of 10 rounds")));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply,
                       SendPaused(generator_, 5, 5));
  EXPECT_TRUE(reply.leave());
}

TEST_F(CoordinatorTest, FailedCheckpointAtTheCutEndsTheStop) {
  StartRun();
  CommitStep(2);
  coordinator_->RequestStop("Ctrl-C");
  ASSERT_OK(SendPaused(generator_, 4, 4));
  ASSERT_OK(SendPaused(discriminator_, 4, 4));
  ShardReport failed;
  failed.set_incarnation(generator_.incarnation);
  failed.set_run_epoch(generator_.run_epoch);
  failed.set_step(5);
  failed.set_error("no space left on device");
  ASSERT_OK(coordinator_->ReportShard(failed));
  ASSERT_OK(Report(discriminator_, 5));
  EXPECT_EQ(State(), StatusReply::STOPPED);
  EXPECT_THAT(coordinator_->outcome()->detail,
              AllOf(HasSubstr("no space left"), HasSubstr("2 of 10 rounds")));
}

TEST_F(CoordinatorTest, FirstReasonToStopCounts) {
  StartRun();
  coordinator_->RequestStop("Ctrl-C");
  LetTimePass(absl::Seconds(20));
  coordinator_->RequestStop("SIGTERM");  // does not extend the grace
  LetTimePass(absl::Seconds(11));
  EXPECT_EQ(State(), StatusReply::STOPPED);
}

}  // namespace
}  // namespace gandem
