// SPDX-License-Identifier: Apache-2.0
//
// A coordinator with a fake clock, a real run folder and played workers.
// Owner: the test. Thread safety: one thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/crc32c.h"
#include "common/files/file.h"
#include "control_plane/coordinator/coordinator.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem::testing {

inline constexpr WorkerKey kGenerator = {GENERATOR, 0};
inline constexpr WorkerKey kDiscriminator = {DISCRIMINATOR, 0};

// State of one worker process.
struct PlayedWorker {
  WorkerKey key;
  int64_t pid = 0;
  int64_t incarnation = 0;
  int64_t run_epoch = 0;
};

class CoordinatorFixture : public ::testing::Test {
 protected:
  CoordinatorFixture() {
    options_.run_name = "test";
    options_.run_dir = run_dir_.path();
    options_.config_text = "rounds: 10\n";
    options_.config_hash = 7;
    options_.epoch.rounds = 10;
    options_.epoch.workers = {kDiscriminator, kGenerator};
    options_.clock = &clock_;
  }

  void Open() {
    coordinator_.reset();
    auto created = Coordinator::Create(options_);
    ASSERT_OK(created);
    coordinator_ = *std::move(created);
  }
  // Starts a process like the launcher; `pid` stays in the played worker.
  void Launch(PlayedWorker& worker) {
    worker.pid = ++last_pid_;
    coordinator_->WorkerStarted(worker.key, worker.pid);
  }
  RegisterRequest Registration(const PlayedWorker& worker) const {
    RegisterRequest request;
    request.set_role(worker.key.role);
    request.set_rank(worker.key.rank);
    request.set_host("here");
    request.set_pid(worker.pid);
    request.set_binary_version(options_.binary_version);
    request.set_previous_incarnation(worker.incarnation);
    return request;
  }
  absl::StatusOr<RegisterReply> Register(PlayedWorker& worker) {
    auto reply = coordinator_->Register(Registration(worker));
    if (reply.ok()) {
      worker.incarnation = reply->incarnation();
      worker.run_epoch = reply->run_epoch();
    }
    return reply;
  }
  // Returns the proof of a worker that sees the run folder.
  std::string Proof() const {
    const std::string state = options_.run_dir + "/state";
    const auto names = ListDirectory(state);
    EXPECT_OK(names);
    for (const std::string& name : *names) {
      if (!absl::StartsWith(name, "folder-")) continue;
      return ReadFile(absl::StrCat(state, "/", name)).value_or("");
    }
    ADD_FAILURE() << "there is no proof in " << state;
    return "";
  }
  absl::StatusOr<JoinReply> Join(const PlayedWorker& worker) {
    JoinRequest request;
    request.set_proof(Proof());
    request.set_incarnation(worker.incarnation);
    request.set_run_epoch(worker.run_epoch);
    if (worker.key.role == DISCRIMINATOR) {
      request.set_exchange_address("unix:/tmp/exchange");
    }
    return coordinator_->Join(request);
  }
  HeartbeatRequest Beat(const PlayedWorker& worker, int64_t started,
                        int64_t completed) const {
    HeartbeatRequest request;
    request.set_incarnation(worker.incarnation);
    request.set_run_epoch(worker.run_epoch);
    request.set_started_round(started);
    request.set_completed_rounds(completed);
    return request;
  }
  absl::StatusOr<HeartbeatReply> Send(const PlayedWorker& worker,
                                      int64_t started, int64_t completed) {
    return coordinator_->Heartbeat(Beat(worker, started, completed));
  }
  absl::StatusOr<HeartbeatReply> SendPaused(const PlayedWorker& worker,
                                            int64_t started,
                                            int64_t completed) {
    HeartbeatRequest request = Beat(worker, started, completed);
    request.set_paused(true);
    return coordinator_->Heartbeat(request);
  }
  absl::StatusOr<HeartbeatReply> SendFinished(const PlayedWorker& worker) {
    HeartbeatRequest request =
        Beat(worker, options_.epoch.rounds - 1, options_.epoch.rounds);
    request.set_finished(true);
    return coordinator_->Heartbeat(request);
  }
  // Writes the worker's shard and returns its report.
  ShardReport WriteShard(const PlayedWorker& worker, int64_t step) {
    const std::string folder =
        PendingCheckpointPath(run_dir_.path(), step, worker.run_epoch);
    const std::string name = absl::StrCat(
        worker.key.role == GENERATOR ? "generator-" : "discriminator-",
        worker.key.rank);
    const std::string text = absl::StrCat(name, " after ", step);
    EXPECT_OK(CreateDirectories(folder));
    EXPECT_OK(WriteFileDurably(folder + "/" + name, text));
    ShardReport report;
    report.set_incarnation(worker.incarnation);
    report.set_run_epoch(worker.run_epoch);
    report.set_step(step);
    CheckpointFile* const file = report.add_files();
    file->set_name(name);
    file->set_size(static_cast<int64_t>(text.size()));
    file->set_crc32c(
        Crc32c(std::as_bytes(std::span(text.data(), text.size()))));
    return report;
  }
  absl::StatusOr<ShardReply> Report(const PlayedWorker& worker, int64_t step) {
    return coordinator_->ReportShard(WriteShard(worker, step));
  }
  void CommitStep(int64_t step) {
    ASSERT_OK(Report(generator_, step));
    ASSERT_OK_AND_ASSIGN(const ShardReply reply, Report(discriminator_, step));
    ASSERT_TRUE(reply.committed());
  }
  // Launches both processes (unless external), registers and joins them.
  void StartRun() {
    if (coordinator_ == nullptr) Open();
    for (PlayedWorker* worker : {&generator_, &discriminator_}) {
      if (!options_.epoch.external && worker->pid == 0) Launch(*worker);
      ASSERT_OK(Register(*worker));
    }
    ASSERT_OK(Join(generator_));
    ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(discriminator_));
    ASSERT_TRUE(reply.all_joined());
  }
  // Advances the clock while both workers and the coordinator run.
  void LetTimePass(absl::Duration duration) {
    const absl::Time end = clock_.Now() + duration;
    while (clock_.Now() < end) {
      clock_.Advance(std::min(absl::Seconds(1), end - clock_.Now()));
      Tick();
    }
  }
  void Tick() {
    for (std::string& event : coordinator_->Tick()) {
      events_.push_back(std::move(event));
    }
  }
  // Returns the events since the last call.
  std::vector<std::string> TakeEvents() {
    Tick();
    return std::exchange(events_, {});
  }
  StatusReply::State State() { return coordinator_->Status().state(); }
  void Exit(PlayedWorker& worker, int exit_code, const std::string& how) {
    coordinator_->WorkerExited(worker.key, exit_code, how);
    worker.pid = 0;
  }

  TempDir run_dir_;
  FakeClock clock_;
  Coordinator::Options options_;
  std::unique_ptr<Coordinator> coordinator_;
  PlayedWorker generator_ = {.key = kGenerator};
  PlayedWorker discriminator_ = {.key = kDiscriminator};
  int64_t last_pid_ = 1000;
  std::vector<std::string> events_;
};

}  // namespace gandem::testing
