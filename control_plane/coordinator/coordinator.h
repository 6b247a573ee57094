// SPDX-License-Identifier: Apache-2.0
//
// The control plane (design.md section 8) around the state machine of a run
// (epoch_machine.h): the lock, the files, the clock, and the replies to
// workers. Callers deliver the events (RPCs, child processes, time); no call
// waits for another process.
//
// The report of a checkpoint's last shard commits the checkpoint, and prunes,
// with the lock released, so other calls are answered meanwhile. A worker that
// registers during that time is told to try again.
//
// Timeouts do not count time in which this process did not run, because it was
// stopped or a disk held it up.
//
// Owner: `gandem train`, for the whole command.
// Thread safety: any thread. Counters are written under the lock, so that every
// epoch, incarnation and commit is on disk before anyone acts on it.
// Errors: those of proto/control.proto to workers. A failure of the run itself
// ends the run and is in outcome().
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
    std::string run_dir;      // required, exists
    std::string config_text;  // the effective config
    uint64_t config_hash = 0;
    // Workers with another version are refused.
    std::string binary_version = std::string(GandemVersion());
    EpochOptions epoch = {};
    // The launcher's processes only start workers on other hosts, so the pids
    // that workers report are unknown to the launcher.
    bool starts_elsewhere = false;
    bool uses_gpus = false;  // in at least one role
    // Treat a health warning of a worker as divergence.
    bool ends_on_health_warning = false;
    int64_t keep_last = 2;
    int64_t keep_every = 0;
    int64_t evaluate_every = 0;  // see CheckpointDisk
    Clock* clock = Clock::Real();
  };
  using Wishes = EpochMachine::Wishes;

  // Fails if the run folder is unreadable or all its checkpoints are damaged.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Create(Options options);

  // The RPCs.
  absl::StatusOr<RegisterReply> Register(const RegisterRequest& request);
  absl::StatusOr<JoinReply> Join(const JoinRequest& request);
  absl::StatusOr<HeartbeatReply> Heartbeat(const HeartbeatRequest& request);
  // The last report of a checkpoint returns when it is committed.
  absl::StatusOr<ShardReply> ReportShard(const ShardReport& report);
  StatusReply Status();

  // The launcher's events. `how` describes the end of the process ("signal 9").
  void WorkerStarted(WorkerKey key, int64_t pid);
  void WorkerExited(WorkerKey key, int exit_code, const std::string& how);
  Wishes TakeWishes();

  void RequestStop(const std::string& reason);
  // Checks for silence and timeouts; call it several times a second. Returns
  // new lines for the operator.
  std::vector<std::string> Tick();
  // Set when the run is over, possibly before all workers know.
  std::optional<RunOutcome> outcome();
  int64_t first_round();  // of the run epoch

 private:
  Coordinator(Options options, const RunCounters& counters, FolderProof proof);

  // Excludes time in which this process did not run.
  absl::Time Now() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Passes the event to the machine, carries out its effects, and returns the
  // first ones.
  EpochEffects Apply(const EpochEvent& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<EpochBegun> StartEpoch(const EpochStart& start)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void BeginRounds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // UNAVAILABLE (the caller tries again) while the disk cannot be written.
  absl::Status WriteCounters(const RunCounters& next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CommitAll() ABSL_LOCKS_EXCLUDED(mu_);

  // Checks that the caller may be the process of this place.
  absl::Status CheckCaller(const Place& place, const RegisterRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  RegisterReply Assignment(const Place& place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The place of the process that may use this incarnation. Reports a caller
  // that was declared dead to the operator.
  absl::StatusOr<const Place*> Speaker(int64_t incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsOver() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return machine_.phase() == EpochMachine::Phase::kOver;
  }
  void Tell(std::vector<std::string> news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Reports at most one refusal per second, because any caller can cause them.
  void TellRefusal(absl::string_view what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Never changes after construction.
  const Options options_;
  const FolderProof proof_;  // shows that workers see the run folder
  const absl::Duration longest_gap_;

  CheckpointDisk disk_;  // thread-safe by itself

  absl::Mutex mu_;
  EpochMachine machine_ ABSL_GUARDED_BY(mu_);
  RunCounters counters_ ABSL_GUARDED_BY(mu_);  // as on disk
  std::string resume_from_ ABSL_GUARDED_BY(mu_);
  // Numerics of the members and of the workers that wrote resume_from_.
  std::vector<WorkerNumerics> numerics_ ABSL_GUARDED_BY(mu_);
  std::vector<WorkerNumerics> numerics_before_ ABSL_GUARDED_BY(mu_);
  // How the roles compute in this epoch.
  std::map<Role, ComputeChoice> computes_ ABSL_GUARDED_BY(mu_);
  // Rounds of the newest checkpoint before the first health warning.
  int64_t healthy_rounds_ ABSL_GUARDED_BY(mu_) = INT64_MAX;
  absl::Time last_event_ ABSL_GUARDED_BY(mu_);
  absl::Duration not_running_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> news_ ABSL_GUARDED_BY(mu_);
  RefusalPace refusals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
