// SPDX-License-Identifier: Apache-2.0
//
// The control plane of a run (design.md section 8). Coordinator adds the lock,
// the files, the clock and the replies to workers to the state machine in
// epoch_machine.h. Callers deliver events: RPCs, exits of child processes,
// time. No call waits for another process.
//
// The call that reports the last shard of a checkpoint also commits the
// checkpoint and prunes older ones. The lock is released meanwhile, so other
// calls are answered; a worker that registers is told to try again.
//
// Timeouts ignore periods in which this process was stopped or held up.
//
// Owner: `gandem train`, for the whole command.
// Thread safety: any thread. Counters are written under the lock, so every
// epoch, incarnation and commit is on disk before it takes effect.
// Errors: replies to workers return those of proto/control.proto. A failure of
// the run itself ends the run and is reported by outcome().
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/config/worker_key.h"
#include "common/results/run_folder.h"
#include "common/security/refusals.h"
#include "common/version.h"
#include "control_plane/coordinator/checkpoint_disk.h"
#include "control_plane/coordinator/epoch_machine.h"
#include "proto/checkpoint.pb.h"
#include "proto/control.pb.h"

namespace gandem {

class Coordinator {
 public:
  struct Options {
    std::string run_name;
    std::string run_dir;      // required; must exist
    std::string config_text;  // the effective configuration
    uint64_t config_hash = 0;
    // Version of gandem that workers must have.
    std::string binary_version = std::string(GandemVersion());
    EpochOptions epoch = {};
    // The launcher only starts workers on other hosts, so it does not know the
    // pids that workers report.
    bool starts_elsewhere = false;
    bool uses_gpus = false;  // by at least one role
    // Whether a health warning of a worker counts as divergence.
    bool ends_on_health_warning = false;
    int64_t keep_last = 2;
    int64_t keep_every = 0;
    int64_t evaluate_every = 0;  // see CheckpointDisk
    Clock* clock = Clock::Real();
  };
  using Wishes = EpochMachine::Wishes;

  // Fails if the run folder is unreadable or all its checkpoints are damaged.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Create(Options options);

  absl::StatusOr<RegisterReply> Register(const RegisterRequest& request);
  absl::StatusOr<JoinReply> Join(const JoinRequest& request);
  absl::StatusOr<HeartbeatReply> Heartbeat(const HeartbeatRequest& request);
  // Returns after the commit if the report completes a checkpoint.
  absl::StatusOr<ShardReply> ReportShard(const ShardReport& report);
  StatusReply Status();

  // Events of the launcher. `how` describes the exit, for example "signal 9".
  void WorkerStarted(WorkerKey key, int64_t pid);
  void WorkerExited(WorkerKey key, int exit_code, const std::string& how);
  Wishes TakeWishes();

  void RequestStop(const std::string& reason);
  // Checks for silence and timeouts; call several times a second. Returns new
  // messages for the operator.
  std::vector<std::string> Tick();
  // Set once the run is over, possibly before all workers have been told.
  std::optional<RunOutcome> outcome();
  int64_t first_round();  // of the run epoch

 private:
  Coordinator(Options options, const RunCounters& counters, FolderProof proof);

  // Returns the time without the periods in which this process did not run.
  absl::Time Now() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Passes the event to the machine, carries out its effects and returns them.
  EpochEffects Apply(const EpochEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<EpochBegun> StartEpoch(const EpochStart& start)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void BeginRounds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns UNAVAILABLE, so that the caller retries, while the disk is full.
  absl::Status WriteCounters(const RunCounters& next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CommitAll() ABSL_LOCKS_EXCLUDED(mu_);

  // Checks that the caller may be the process of `place`.
  absl::Status CheckCaller(const Place& place, const RegisterRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  RegisterReply Assignment(const Place& place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the place that `incarnation` belongs to. Reports a caller that was
  // declared dead to the operator.
  absl::StatusOr<const Place*> Speaker(int64_t incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return machine_.phase() == EpochMachine::Phase::kOver;
  }
  void Tell(std::vector<std::string> news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Reports at most one refusal per second, because any caller can cause one.
  void TellRefusal(absl::string_view what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  const FolderProof proof_;  // proves that a worker sees the run folder
  const absl::Duration longest_gap_;

  CheckpointDisk disk_;  // thread-safe

  absl::Mutex mu_;
  EpochMachine machine_ ABSL_GUARDED_BY(mu_);
  RunCounters counters_ ABSL_GUARDED_BY(mu_);  // as written to disk
  std::string resume_from_ ABSL_GUARDED_BY(mu_);
  // Numerics of the members, and of the workers that wrote resume_from_.
  std::vector<WorkerNumerics> numerics_ ABSL_GUARDED_BY(mu_);
  std::vector<WorkerNumerics> numerics_before_ ABSL_GUARDED_BY(mu_);
  std::map<Role, ComputeChoice> computes_ ABSL_GUARDED_BY(mu_);
  // Number of rounds of the newest checkpoint before the first health warning.
  int64_t healthy_rounds_ ABSL_GUARDED_BY(mu_) = INT64_MAX;
  absl::Time last_event_ ABSL_GUARDED_BY(mu_);
  absl::Duration not_running_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> news_ ABSL_GUARDED_BY(mu_);
  RefusalPace refusals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
