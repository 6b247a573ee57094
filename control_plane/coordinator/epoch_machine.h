// SPDX-License-Identifier: Apache-2.0
//
// The life of a run as a state machine (design.md section 8):
//
//   gathering <-> running -> stopping -> over
//
//   gathering  A run epoch has begun; its workers register and join.
//   running    All members have joined and compute rounds.
//   stopping   All workers pause; the checkpoint at the cut ends the run.
//   over       outcome() holds the result of the run.
//
// A death starts the next epoch from the newest complete checkpoint. In an
// elastic run in which both roles still have workers, the epoch starts from
// their state in memory instead: the fleets re-form, and again when the worker
// returns. The members of such an epoch register again, but get no answer until
// all of them have registered or are lost: only then are their positions known,
// and the round that all have completed. While stopping, a death ends the run.
//
// The machine uses no lock, file or clock: On() takes an event and its time,
// and returns the actions to take. A start is requested by an effect and
// complete with EpochBegun; on a full disk it is requested again until the
// grace period has passed. Deaths wait until no checkpoint is being committed.
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
  // Checkpoints are possible only at multiples of this number of rounds, a
  // divisor of `rounds`.
  int64_t rounds_to_agreement = 1;
  std::vector<WorkerKey> workers = {};  // required
  // The launcher starts no workers; they connect by themselves.
  bool external = false;
  bool elastic = false;  // BOUNDED: a fleet continues without a dead worker
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
  // Processes for the launcher to start and to kill.
  struct Wishes {
    std::vector<WorkerKey> start;
    std::vector<WorkerKey> kill;
  };

  // `earlier`: the counters of earlier coordinators of the run. The first event
  // must be EpochBegun.
  EpochMachine(EpochOptions options, const RunCounters& earlier);

  // `now` must not decrease.
  EpochEffects On(const EpochEvent& event, absl::Time now);

  // Notes that the process with this incarnation is alive, and returns its
  // place. Errors: those of Membership::Speaker.
  absl::StatusOr<const Place*> Hear(int64_t incarnation, absl::Time now);
  Wishes TakeWishes(absl::Time now);
  // The next checkpoint to commit; CheckpointWritten reports the result.
  std::optional<CheckpointCommits::Job> TakeJob(absl::Time now) {
    return commits_.Take(now);
  }

  const EpochOptions& options() const { return options_; }
  Phase phase() const { return phase_; }
  const Membership& members() const { return members_; }
  const CheckpointCommits& commits() const { return commits_; }
  const Stopping& stopping() const { return stopping_; }
  int restarts() const { return restarts_.total(); }
  int64_t first_round() const { return first_round_; }  // of the epoch
  std::optional<RunOutcome> outcome() const;
  absl::Status OverError() const;

 private:
  // A start that was requested and has not happened yet.
  struct Starting {
    EpochStart start;
    absl::Time next_try = absl::InfiniteFuture();
    absl::Time give_up_at = absl::InfiniteFuture();
  };
  static constexpr absl::Duration kDiskRetryInterval = absl::Seconds(1);

  // When a fleet last completed a sum over all its ranks.
  struct FleetSign {
    int64_t sums = 0;  // in units of rounds_to_agreement
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

  // Transitions.
  void BeginRounds();
  void Start(EpochStart start);
  void StartFromCheckpoint(const std::string& why, bool rolls_back = false);
  void Reform(WorkerKey key, const std::string& what);
  absl::Status Seal();
  void Stop(const std::string& reason);
  // Checks whether all workers are paused, at the cut, or finished.
  void Advance();
  void End(RunOutcome outcome);
  void EndFailed(int exit_code, const std::string& what);
  void EndResumable(const std::string& why) {
    End(ResumableOutcome(why, commits_));
  }

  absl::Status Receive(Place& place, const RegisterRequest& request);
  absl::Status Gather(Place& place, const RegisterRequest& request);
  void HandleDeath(const WorkerDied& death);
  // Returns false if the process's end is known and changes nothing.
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

  // Whether the next epoch can start from the members' memory.
  bool CanReform() const;
  // Whether the members of an epoch that starts from memory are registering
  // again. IsReforming: none of them has got its position yet.
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
  // The time and the effects of the current event.
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
  std::deque<WorkerDied> deaths_;  // wait for commits or for a start
  // Set if the states of a role's workers differed at a checkpoint; the text
  // describes how.
  std::optional<std::pair<CheckpointCommits::Parting, std::string>> parting_;
  // Why the fleets re-form: the workers that are lost or back.
  std::vector<std::pair<WorkerKey, std::string>> changes_;
  std::map<Role, FleetSign> fleet_signs_;  // of the epoch
  std::string diverged_;  // set until the last good checkpoint is marked
};

}  // namespace gandem
