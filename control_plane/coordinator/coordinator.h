// SPDX-License-Identifier: Apache-2.0
//
// The control plane (design.md section 8): who works in which run epoch, which
// checkpoints are complete, how a run stops and when it is over. The rules are
// in parts without locks or files (membership.h, joining.h, restart_budget.h,
// stopping.h, checkpoint_commits.h); this class holds the lock, the files and
// the phase.
// Callers bring the events (RPCs, child processes, time); nothing here waits.
//
//   rejoining -> gathering <-> running -> stopping -> over
//
// A death in any epoch starts the next one from the newest complete checkpoint,
// or, in an elastic run whose two roles both have workers left, from what these
// hold in memory: the fleets re-form (coordinator_reform.cc), and re-form again
// when the worker is back. While stopping, a death ends the run with what is on
// disk.
//
// Who reports the last shard of a checkpoint commits it, and prunes, with the
// lock released: others are answered meanwhile. The epoch stays as it is until
// that is done, and so does the run, but for the grace of a stop: deaths wait
// for it, and who registers is told to ask again. On a full or read-only disk
// the commit that ends the run, and the start of an epoch, are tried again for
// as long as the grace.
//
// Owner: `gandem train`, for the whole command.
// Thread safety: any thread. Counters are written under the lock: nobody acts
// on an epoch or an incarnation that is not on disk yet, nor on a commit.
// Errors: those of proto/control.proto to workers; failures of the run itself
// end it, and outcome() tells.
#pragma once

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
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/checkpoint/checkpoint_pruner.h"
#include "common/checkpoint/folder_proof.h"
#include "common/clock.h"
#include "common/config/worker_key.h"
#include "common/process/exit_code.h"
#include "common/security/refusals.h"
#include "common/version.h"
#include "control_plane/coordinator/checkpoint_commits.h"
#include "control_plane/coordinator/evaluation_snapshots.h"
#include "control_plane/coordinator/membership.h"
#include "control_plane/coordinator/progress_watch.h"
#include "control_plane/coordinator/restart_budget.h"
#include "control_plane/coordinator/stopping.h"
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
    // Workers of another release are refused.
    std::string binary_version = std::string(GandemVersion());
    int64_t rounds = 0;  // required, >= 1
    // A checkpoint can be taken after multiples of so many rounds only; a
    // divisor of rounds.
    int64_t rounds_to_agreement = 1;
    std::vector<WorkerKey> workers = {};  // required
    // Workers come by themselves; without it the launcher's are the only ones.
    bool external = false;
    // The launcher's processes only start workers, on other hosts: the pid that
    // a worker reports is none that the launcher knows.
    bool starts_elsewhere = false;
    bool uses_gpus = false;  // a role computes on one
    // BOUNDED: a fleet goes on without a worker that dies.
    bool elastic = false;
    absl::Duration heartbeat_timeout = absl::Seconds(60);
    absl::Duration join_timeout = absl::Seconds(120);
    absl::Duration grace = absl::Seconds(30);
    // See ProgressWatch::Options.
    std::optional<absl::Duration> progress_timeout = absl::ZeroDuration();
    int restart_budget = 5;
    int max_rollbacks = 0;  // of a run that diverges; 0: it ends
    // A worker that warns of its training's health fails as one that diverges.
    bool ends_on_health_warning = false;
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
  // The last report of a checkpoint returns when it is committed.
  absl::StatusOr<ShardReply> ReportShard(const ShardReport& report);
  StatusReply Status();

  // The launcher's events. `how` says how the process ended ("signal 9").
  void WorkerStarted(WorkerKey key, int64_t pid);
  void WorkerExited(WorkerKey key, int exit_code, const std::string& how);
  Wishes TakeWishes();

  void RequestStop(const std::string& reason);
  // Judges silence and timeouts; call it several times a second. Returns what
  // the operator should read, once each.
  std::vector<std::string> Tick();
  // Set when the run is over. Workers may still have to be told.
  std::optional<RunOutcome> outcome();

 private:
  enum class Phase { kRejoining, kGathering, kRunning, kStopping, kOver };

  struct Death {
    std::string why;
    int exit_code = kExitInternal;
    bool process_is_gone = false;
    bool was_reaped = false;                           // by the launcher
    absl::Duration kill_after = absl::ZeroDuration();  // if it is not
    // The workers of its role that HeartbeatRequest.ranks_apart names.
    std::vector<int> ranks_apart = {};
  };

  // The next epoch, as long as the disk keeps it from beginning.
  struct PostponedEpoch {
    bool from_memory = false;
    bool rolls_back = false;
    absl::Time next_try = absl::InfinitePast();
    absl::Time give_up_at = absl::InfiniteFuture();
  };
  static constexpr absl::Duration kDiskRetryInterval = absl::Seconds(1);

  // When a fleet last got beyond a sum of all its ranks.
  struct FleetSign {
    int64_t sums = 0;  // in units of rounds_to_agreement
    absl::Time time = absl::InfinitePast();
  };

  Coordinator(Options options, const RunCounters& counters, FolderProof proof);
  absl::Status Open();

  // Writes `next` with the next epoch's number; nobody has joined it yet.
  absl::Status CountEpoch(RunCounters next, bool from_memory)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // From the newest checkpoint. `rolls_back`: it goes on with other noise.
  void BeginEpoch(const std::string& why, bool rolls_back = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TryBeginEpoch(bool rolls_back)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Begins it, postpones it, or ends the run.
  void BeginOrPostpone(bool from_memory, bool rolls_back)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tries the postponed epoch when it is time.
  void CheckPostponed(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // UNAVAILABLE, that is ask again, while the disk takes nothing.
  absl::Status WriteCounters(const RunCounters& next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // All members have joined.
  void BeginRounds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tells the operator what may make bits differ between the members, or from
  // those that `before` had, who wrote the checkpoint that they start from.
  void CompareMachines(const std::vector<WorkerNumerics>& before)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What matters in this run.
  Numerics NumericsOf(const Place& place) const;
  // Handles the death, or keeps it until the commits are done.
  void TakeDeath(Place& place, Death death) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void HandleDeath(Place& place, const Death& death)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The numbers of a worker are not finite, or its training does not train: the
  // run ends, with checkpoints/last-good, or goes back.
  void Diverge(const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // It took the place of a worker that was well, and never got as far itself:
  // its failure, of usage above all, says nothing about the run.
  bool IsFailedNewcomer(const Place& place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return options_.external && place.displacer != 0 &&
           place.displacer == place.reported_pid;
  }
  // Counts a death, and says when the next process starts if that is later.
  // False: the budget is used up.
  bool SpendRestart(const Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The epoch cannot go on with this worker; without it perhaps.
  void LoseMember(Place& place, const std::string& how)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The members' memory may be what the next epoch starts from.
  bool CanReform() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The members of fleets that re-form come back; and at first nobody has been
  // told its position yet.
  bool GathersMemory() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return phase_ == Phase::kGathering &&
           members_.source() != Membership::Source::kCheckpoint;
  }
  bool IsReforming() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return phase_ == Phase::kGathering &&
           members_.source() == Membership::Source::kMemoryIsOpen;
  }
  void BeginReform(WorkerKey key, const std::string& what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A worker registers in an elastic run. UNAVAILABLE: not yet.
  absl::Status Gather(Place& place, const RegisterRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Decides where the epoch starts, if all members are back. UNAVAILABLE else.
  absl::Status TrySeal() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Whether the caller may have the place.
  absl::Status CheckCaller(const Place& place, const RegisterRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What AUTO has become is on disk before a round depends on it.
  absl::Status KeepChoices(const JoinRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What a worker that was admitted is told.
  RegisterReply Assignment(const Place& place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<RegisterReply> ContinueWorker(Place& place,
                                               const RegisterRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The place of who may use this incarnation, and is thereby alive. Of one
  // that was fenced the operator is told.
  absl::StatusOr<Place*> Speaker(int64_t incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // It speaks of an epoch that is over.
  bool IsSuperseded(const Place& place, int64_t run_epoch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return run_epoch != counters_.run_epoch() || !members_.IsInEpoch(place);
  }
  WorkerStatus Describe(const Place& place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Does what there is to commit.
  void CommitAll() ABSL_LOCKS_EXCLUDED(mu_, disk_mu_);
  absl::Status Commit(const CheckpointCommits::Job& job) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(disk_mu_);
  // It is the checkpoint that ends the run, and the disk may still take it.
  bool TriesAgain(CheckpointCommits::Job& job, const absl::Status& committed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string PatienceText() const;
  // After the last try: what is kept to be judged, and pruning; or nothing of
  // it is left. Returns what failed, and what was found, for the operator.
  std::vector<std::string> TidyUp(const CheckpointCommits::Job& job,
                                  const absl::Status& committed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(disk_mu_);
  // "the checkpoint of 4 rounds lacks the shards of generator 1"
  std::string IncompleteText(const CheckpointCommits::Incomplete& checkpoint)
      const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What starting from the newest checkpoint costs; empty: nothing.
  std::string LostRoundsText(int64_t first_round) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Settle(const CheckpointCommits::Job& job, const absl::Status& committed,
              std::vector<std::string> notes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The workers of a role had different states at a checkpoint, as `text` says:
  // all go back to the one before it.
  void HandleParting(const CheckpointCommits::Parting& parting,
                     const std::string& text)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Handles a worker's report that the states of its fleet differ: all workers
  // go back to the newest checkpoint.
  void LeaveMemory(Role role, const std::vector<int>& ranks_apart,
                   const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Counts for each worker how often its state was not that of its fleet.
  void Blame(const std::vector<Place*>& apart, const std::string& what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The run goes on without the worker, or ends where it cannot.
  void Exclude(Place& place, const std::string& what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Stop(const std::string& reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Looks whether all are paused, at the cut, or finished.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndWithoutEpoch(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End(RunOutcome outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckSilence(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // When the worker was last known to live: from itself or from its fleet.
  absl::Time LastSign(const Place& place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteFleetSign(const Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The run stands still: whoever holds it up is as good as dead.
  void CheckProgress(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NotePosition(Place& place, const HeartbeatRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Up to now.
  WorkerPosition PositionOf(const Place& place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckJoins(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckTimes(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CheckGrace(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddEvent(std::string event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    events_.push_back(std::move(event));
  }
  // Of what any caller can bring about as often as it likes: one a second.
  void AddRefusal(absl::string_view event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Never changes after construction.
  const Options options_;
  const uint32_t config_crc32c_;
  const FolderProof proof_;  // that workers see the run folder

  // Never held together with the state's.
  absl::Mutex disk_mu_;
  std::optional<EvaluationSnapshots> snapshots_ ABSL_GUARDED_BY(disk_mu_);
  CheckpointPruner pruner_ ABSL_GUARDED_BY(disk_mu_);

  absl::Mutex mu_;
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kGathering;
  RunCounters counters_ ABSL_GUARDED_BY(mu_);  // as on disk
  Membership members_ ABSL_GUARDED_BY(mu_);
  CheckpointCommits commits_ ABSL_GUARDED_BY(mu_);
  Stopping stopping_ ABSL_GUARDED_BY(mu_);
  std::string resume_from_ ABSL_GUARDED_BY(mu_);
  // Of the epoch; -1: it was begun by an earlier coordinator.
  int64_t first_round_ ABSL_GUARDED_BY(mu_) = 0;
  // Why the fleets re-form: whose coming or going.
  std::vector<std::pair<WorkerKey, std::string>> changes_ ABSL_GUARDED_BY(mu_);
  std::optional<PostponedEpoch> postponed_ ABSL_GUARDED_BY(mu_);
  // Deaths that wait for the commits, in their order.
  std::vector<std::pair<WorkerKey, Death>> deaths_ ABSL_GUARDED_BY(mu_);
  // That of the epoch, which waits for the commits, too.
  std::optional<std::pair<CheckpointCommits::Parting, std::string>> parting_
      ABSL_GUARDED_BY(mu_);
  // Numerics of the members, and of the workers that wrote resume_from_.
  std::vector<WorkerNumerics> numerics_ ABSL_GUARDED_BY(mu_);
  std::vector<WorkerNumerics> numerics_before_ ABSL_GUARDED_BY(mu_);
  // How the roles compute in this epoch.
  std::map<Role, ComputeChoice> computes_ ABSL_GUARDED_BY(mu_);
  RestartBudget restarts_ ABSL_GUARDED_BY(mu_);
  std::map<Role, FleetSign> fleet_signs_ ABSL_GUARDED_BY(mu_);  // of the epoch
  ProgressWatch watch_ ABSL_GUARDED_BY(mu_);
  // Checkpoints of more rounds are from after the first health warning.
  int64_t healthy_rounds_ ABSL_GUARDED_BY(mu_) = INT64_MAX;
  absl::Time phase_since_ ABSL_GUARDED_BY(mu_);
  absl::Time last_tick_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> events_ ABSL_GUARDED_BY(mu_);
  RefusalPace refusals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
