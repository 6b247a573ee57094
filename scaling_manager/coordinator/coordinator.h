// SPDX-License-Identifier: Apache-2.0
//
// The control plane's state (design.md section 8): who works in which run
// epoch, which checkpoints are complete, how a run stops and when it is over.
// Callers bring the events (RPCs, child processes, time); nothing here waits.
//
//   rejoining -> gathering <-> running -> stopping -> over
//
// A death in any epoch starts the next one from the newest complete checkpoint,
// or, in an elastic run whose two roles both have workers left, from what these
// hold in memory: the fleets re-form (coordinator_reform.cc), and re-form again
// when the worker is back. While stopping, a death ends the run with what is on
// disk. To stop, every worker is told to pause; the cut is the last round that
// any of them has started; all run exactly to it, write a checkpoint and, once
// it is committed, leave.
//
// Owner: `gandem train`, for the whole command.
// Thread safety: any thread. Counters and checkpoints are written under the
// lock: nobody acts on an epoch or a commit that is not on disk yet.
// Errors: those of proto/control.proto to workers; failures of the run itself
// end it, and outcome() tells.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/process/exit_code.h"
#include "common/version.h"
#include "proto/checkpoint.pb.h"
#include "proto/control.pb.h"
#include "scaling_manager/coordinator/evaluation_snapshots.h"
#include "scaling_manager/coordinator/shard_collector.h"

namespace gandem {

// A place in the run that one process at a time may fill.
struct WorkerKey {
  Role role = ROLE_UNKNOWN;
  int rank = 0;
  auto operator<=>(const WorkerKey&) const = default;
};
std::string ToString(WorkerKey key);  // "generator 0"

// How a run ended.
struct RunOutcome {
  std::string state;  // finished, stopped or failed
  int exit_code = kExitOk;
  std::string detail;
};

class Coordinator {
 public:
  struct Options {
    std::string run_name;
    std::string run_dir;      // required, exists
    std::string config_text;  // the effective config
    uint64_t config_hash = 0;
    // Workers of another release are refused.
    std::string binary_version = std::string(GandemVersion());
    int64_t rounds = 0;  // required, >= 1
    // A checkpoint can be taken after multiples of so many rounds only; a
    // divisor of rounds.
    int64_t rounds_to_agreement = 1;
    std::vector<WorkerKey> workers = {};  // required
    // Workers come by themselves; without it the launcher's are the only ones.
    bool external = false;
    // BOUNDED: a fleet goes on without a worker that dies.
    bool elastic = false;
    absl::Duration heartbeat_timeout = absl::Seconds(60);
    absl::Duration join_timeout = absl::Seconds(120);
    absl::Duration grace = absl::Seconds(30);
    int restart_budget = 5;
    int64_t keep_last = 2;
    int64_t keep_every = 0;
    // Above 0: checkpoints that are due to be judged are kept before they may
    // be pruned (evaluation_snapshots.h).
    int64_t evaluate_every = 0;
    Clock* clock = Clock::Real();
  };
  // What the launcher is to do now.
  struct Wishes {
    std::vector<WorkerKey> start;
    std::vector<WorkerKey> kill;
  };

  // Fails for an unreadable run folder, and when all its checkpoints are
  // damaged.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Create(Options options);

  // The RPCs.
  absl::StatusOr<RegisterReply> Register(const RegisterRequest& request);
  absl::StatusOr<JoinReply> Join(const JoinRequest& request);
  absl::StatusOr<HeartbeatReply> Heartbeat(const HeartbeatRequest& request);
  absl::StatusOr<ShardReply> ReportShard(const ShardReport& report);
  StatusReply Status();

  // The launcher's events. `how` says how the process ended ("signal 9").
  void WorkerStarted(WorkerKey key, int64_t pid);
  void WorkerExited(WorkerKey key, int exit_code, const std::string& how);
  Wishes TakeWishes();

  void RequestStop(const std::string& reason);
  // Judges silence and timeouts; call it several times a second.
  void Tick();
  // Set once, when the run is over. Workers may still have to be told.
  std::optional<RunOutcome> outcome();
  // The run is over and every registered worker has been told so.
  bool AllToldToLeave();
  // What the operator should read, once each.
  std::vector<std::string> TakeEvents();

 private:
  enum class Phase { kRejoining, kGathering, kRunning, kStopping, kOver };

  struct Worker {
    WorkerKey key;
    // The launcher's view; 0: no process.
    int64_t pid = 0;
    bool death_handled = false;  // of this process
    absl::Time kill_at = absl::InfiniteFuture();
    // The worker's own. incarnation 0: nobody may speak for this place.
    int64_t incarnation = 0;
    int64_t epoch = 0;  // that it registered for
    bool joined = false;
    bool told_to_leave = false;
    std::string host;
    int64_t reported_pid = 0;
    std::string exchange_address;
    FleetMember member;         // where others of its role find it
    ComputeChoice compute;      // as it has joined
    HeartbeatRequest progress;  // the newest one, without metrics
    RoundMetrics last_metrics;
    absl::Time waiting_since;  // to join the epoch
    absl::Time last_seen;
    // Takes part in the epoch. Only elastic runs have workers that do not.
    bool is_member = true;
    // What it has said since the fleets began to re-form.
    bool is_back = false;
    bool holds_state = false;
    int64_t held_rounds = 0;
    int64_t registered_from = 0;  // its incarnation before this one; 0: none
  };
  struct Death {
    std::string why;
    int exit_code = kExitInternal;
    bool process_is_gone = false;
    absl::Duration kill_after = absl::ZeroDuration();  // if it is not
  };

  explicit Coordinator(Options options);
  absl::Status Open();
  // The members of the epoch: each writes its share of its role's state.
  int NumSavers() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Writes the next epoch's number; nobody has joined it yet.
  absl::Status CountEpoch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void BeginEpoch(const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TryBeginEpoch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void HandleDeath(Worker& worker, const Death& death)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The epoch cannot go on with this worker; without it perhaps.
  void LoseWorker(Worker& worker, const std::string& how)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // FAILED_PRECONDITION: a process that was declared dead, or replaced.
  absl::Status CheckFence(const Worker& worker,
                          const RegisterRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The members' memory may be what the next epoch starts from.
  bool CanReform() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The members of fleets that re-form come back; and at first nobody has been
  // told its place yet.
  bool GathersMemory() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return phase_ == Phase::kGathering && keeps_state_;
  }
  bool IsReforming() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return GathersMemory() && !is_sealed_;
  }
  void BeginReform(WorkerKey key, const std::string& what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A worker registers in an elastic run. UNAVAILABLE: not yet.
  absl::Status Gather(Worker& worker, const RegisterRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // All members are back: decides where the epoch starts.
  void TrySeal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetPlace(const Worker& worker, RegisterReply& reply) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // All members have joined.
  void BeginRounds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Stop(const std::string& reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Looks whether all are paused, at the cut, or finished.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End(RunOutcome outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::StatusOr<RegisterReply> ContinueWorker(Worker& worker,
                                               const RegisterRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A unix socket serves its own host only.
  absl::Status CheckReach(const Worker& discriminator) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // So does that of a fleet.
  absl::Status CheckFleetReach(const Worker& worker) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckJoin(const Worker& worker, const JoinRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Members of a role, and a member's place among them.
  int FleetSize(Role role) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int PositionOf(const Worker& worker) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckPlace(const Worker& worker, const RegisterRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Commit(int64_t step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TryCommit(int64_t step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveUpCheckpoint(int64_t step, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckSilence(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckJoins(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Worker* Find(WorkerKey key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The worker that may use this incarnation, which is thereby alive.
  absl::StatusOr<Worker*> Speaker(int64_t incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AllJoined() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string WorkerState(const Worker& worker) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string NewestCheckpointText() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddEvent(std::string event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;       // never changes after construction
  uint32_t config_crc32c_ = 0;  // set by the constructor
  absl::Mutex mu_;
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kGathering;
  std::vector<Worker> workers_ ABSL_GUARDED_BY(mu_);
  RunCounters counters_ ABSL_GUARDED_BY(mu_);  // as on disk
  // Incarnations up to this one were given by earlier coordinators.
  int64_t earlier_incarnations_ ABSL_GUARDED_BY(mu_) = 0;
  ShardCollector shards_ ABSL_GUARDED_BY(mu_);
  std::optional<EvaluationSnapshots> snapshots_ ABSL_GUARDED_BY(mu_);
  int64_t committed_step_ ABSL_GUARDED_BY(mu_) = 0;  // 0: none
  int64_t settled_step_ ABSL_GUARDED_BY(mu_) = 0;    // committed or given up
  std::string resume_from_ ABSL_GUARDED_BY(mu_);
  // Of the epoch; -1: it was begun by an earlier coordinator.
  int64_t first_round_ ABSL_GUARDED_BY(mu_) = 0;
  // The epoch starts from its members' memory; once it is sealed, members and
  // first round are known.
  bool keeps_state_ ABSL_GUARDED_BY(mu_) = false;
  bool is_sealed_ ABSL_GUARDED_BY(mu_) = false;
  // Why the fleets re-form: whose coming or going.
  std::vector<std::pair<WorkerKey, std::string>> changes_ ABSL_GUARDED_BY(mu_);
  // How the roles compute in this epoch.
  std::map<Role, ComputeChoice> computes_ ABSL_GUARDED_BY(mu_);
  int restarts_ ABSL_GUARDED_BY(mu_) = 0;
  std::string last_failure_ ABSL_GUARDED_BY(mu_);
  std::string stop_reason_ ABSL_GUARDED_BY(mu_);
  absl::Time stop_deadline_ ABSL_GUARDED_BY(mu_);
  std::optional<int64_t> cut_ ABSL_GUARDED_BY(mu_);
  std::optional<RunOutcome> outcome_ ABSL_GUARDED_BY(mu_);
  absl::Time phase_since_ ABSL_GUARDED_BY(mu_);
  absl::Time last_tick_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> events_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
