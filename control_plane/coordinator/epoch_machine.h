// SPDX-License-Identifier: Apache-2.0
//
// State machine of a run (design.md section 8):
//
//   gathering <-> running -> stopping -> over
//
//   gathering  A run epoch has begun; its workers register and join.
//   running    All members have joined and compute rounds.
//   stopping   All workers pause; the checkpoint at the cut ends the run.
//   over       outcome() returns the result of the run.
//
// The death of a worker starts the next epoch from the newest complete
// checkpoint. In an elastic run in which both roles still have workers, the
// next epoch starts from the state in their memory instead: the fleets re-form
// without the dead worker, and once more when it returns. The members of such
// an epoch register again. They get no reply until every member has registered
// or is lost, because their positions and the last round that all of them
// completed are unknown before. While the run is stopping, a death ends it.
//
// The machine uses no lock, file or clock: On() takes an event and its time,
// and returns the actions to carry out. The machine requests the start of an
// epoch as an effect and considers it started after EpochBegun. If the disk is
// full, the machine repeats the request until the grace period has passed.
// Deaths are handled after running commits.
//
// Owner: the coordinator. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "control_plane/coordinator/checkpoint_commits.h"
#include "control_plane/coordinator/epoch_events.h"
#include "control_plane/coordinator/membership.h"
#include "control_plane/coordinator/progress_watch.h"
#include "control_plane/coordinator/restart_budget.h"
#include "control_plane/coordinator/stopping.h"

namespace gandem {

struct EpochOptions {
  int64_t rounds = 0;  // required, >= 1
  // Checkpoints are possible only at multiples of this divisor of `rounds`.
  int64_t rounds_to_agreement = 1;
  std::vector<WorkerKey> workers = {};  // required
  // The launcher starts no workers; they are started by hand.
  bool external = false;
  bool elastic = false;  // BOUNDED: fleets continue without dead workers
  absl::Duration heartbeat_timeout = absl::Seconds(60);
  absl::Duration join_timeout = absl::Seconds(120);
  absl::Duration grace = absl::Seconds(30);
  // See ProgressWatch::Options.
  std::optional<absl::Duration> progress_timeout = absl::ZeroDuration();
  int restart_budget = 5;
  int max_rollbacks = 0;  // after divergence; 0: divergence ends the run
};

class EpochMachine {
 public:
  enum class Phase { kGathering, kRunning, kStopping, kOver };
  struct Wishes {
    std::vector<WorkerKey> start;
    std::vector<WorkerKey> kill;
  };

  // `earlier`: counters of earlier coordinators. Requires EpochBegun first.
  EpochMachine(EpochOptions options, const RunCounters& earlier);

  EpochEffects On(const EpochEvent& event, absl::Time now);

  // Records a live process. Returns its place, or an error of Speaker().
  absl::StatusOr<const Place*> Hear(int64_t incarnation, absl::Time now);
  Wishes TakeWishes(absl::Time now);
  // Returns the next checkpoint to commit; send CheckpointWritten afterwards.
  std::optional<CheckpointCommits::Job> TakeJob(absl::Time now) {
    return commits_.Take(now);
  }

  const EpochOptions& options() const { return options_; }
  Phase phase() const { return phase_; }
  const Membership& members() const { return members_; }
  const CheckpointCommits& commits() const { return commits_; }
  const Stopping& stopping() const { return stopping_; }
  int restarts() const { return restarts_.total(); }
  int64_t first_round() const { return first_round_; }  // of the current epoch
  std::optional<RunOutcome> outcome() const;
  absl::Status OverError() const;

 private:
  struct Starting {
    EpochStart start;
    absl::Time next_try = absl::InfiniteFuture();
    absl::Time give_up_at = absl::InfiniteFuture();
  };
  static constexpr absl::Duration kDiskRetryInterval = absl::Seconds(1);

  // Last time at which a fleet completed an all-reduce.
  struct FleetSign {
    int64_t sums = 0;  // all-reduces, each after rounds_to_agreement rounds
    absl::Time time = absl::InfinitePast();
  };

  void Handle(const EpochBegun& begun);
  void Handle(const EpochFailed& failed);
  void Handle(const LastGoodMarked& marked);
  void Handle(const ProcessStarted& started);
  void Handle(const WorkerCame& came);
  void Handle(const WorkerAdmitted& admitted);
  void Handle(const WorkerJoined& joined);
  void Handle(const WorkerProgressed& progressed);
  void Handle(const WorkerDied& died) { deaths_.push_back(died); }
  void Handle(const WorkerLeaves& leaves);
  void Handle(const ShardReported& reported);
  void Handle(const CheckpointWritten& written);
  void Handle(const CheckpointSettled& settled);
  void Handle(const StopWanted& wanted);
  void Handle(const TimePassed& passed);

  void BeginRounds();
  void Start(EpochStart start);
  void StartFromCheckpoint(const std::string& why, bool rolls_back = false);
  void Reform(WorkerKey key, const std::string& what);
  absl::Status Seal();
  void Stop(const std::string& reason);
  // Ends the run, or continues the stop, when all workers are ready.
  void Advance();
  void End(RunOutcome outcome);
  void EndFailed(int exit_code, const std::string& what);
  void EndResumable(const std::string& why) {
    End(ResumableOutcome(why, commits_));
  }

  absl::Status Receive(Place& place, const RegisterRequest& request);
  absl::Status Gather(Place& place, const RegisterRequest& request);
  void HandleDeath(const WorkerDied& death);
  // Takes the dead process from its place. Returns false if nothing changes.
  bool TakeProcess(Place& place, const WorkerDied& death);
  void HandleLoss(Place& place, const WorkerDied& death);
  bool SpendRestart(const Place& place);
  void Diverge(const std::string& what);
  void HandleParting(const CheckpointCommits::Parting& parting,
                     const std::string& text);
  void CheckSilence();
  void CheckProgress();
  void CheckJoins();
  absl::Time LastSign(const Place& place) const;
  std::string PatienceText() const;

  // Returns whether the next epoch can start from the members' memory.
  bool CanReform() const;
  // GathersMemory: the members of an epoch that starts from memory are
  // registering again. IsReforming: none of them has been assigned a position
  // yet.
  bool GathersMemory() const {
    return phase_ == Phase::kGathering &&
           members_.source() != Membership::Source::kCheckpoint;
  }
  bool IsReforming() const {
    return phase_ == Phase::kGathering &&
           members_.source() == Membership::Source::kMemoryIsOpen;
  }
  Place& At(WorkerKey key) { return *members_.Find(key); }
  void Tell(std::string news) { effects_.news.push_back(std::move(news)); }

  const EpochOptions options_;
  absl::Time now_;
  EpochEffects effects_;

  Phase phase_ = Phase::kGathering;
  absl::Time phase_since_;
  Membership members_;
  CheckpointCommits commits_;
  Stopping stopping_;
  RestartBudget restarts_;
  ProgressWatch watch_;
  int64_t first_round_ = 0;
  int64_t rollbacks_ = 0;
  std::optional<Starting> starting_;
  std::deque<WorkerDied> deaths_;  // wait for a commit or an epoch start
  // Set, with a description, if a role's states differed at a checkpoint.
  std::optional<std::pair<CheckpointCommits::Parting, std::string>> parting_;
  // Workers lost or back since the fleets began to re-form, with the reason.
  std::vector<std::pair<WorkerKey, std::string>> changes_;
  std::map<Role, FleetSign> fleet_signs_;  // in this epoch
  std::string diverged_;  // why; until the last good checkpoint is marked
};

}  // namespace gandem
