// SPDX-License-Identifier: Apache-2.0
//
// Epochs, deaths, stopping and the end of a run. The workers' calls are in
// coordinator.cc, fleets that re-form in coordinator_reform.cc.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "scaling_manager/coordinator/coordinator.h"
#include "scaling_manager/coordinator/run_counters.h"

namespace gandem {
namespace {

// A longer gap between two ticks means that this process did not run (stopped,
// suspended, a slow disk): the workers' silence says nothing then.
constexpr absl::Duration kLongestTickGap = absl::Seconds(5);
constexpr absl::Duration kShortestTickGap = absl::Milliseconds(500);

}  // namespace

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Create(
    Options options) {
  std::sort(options.workers.begin(), options.workers.end());
  std::unique_ptr<Coordinator> coordinator(new Coordinator(std::move(options)));
  GANDEM_RETURN_IF_ERROR(coordinator->Open());
  return coordinator;
}

absl::Status Coordinator::Open() {
  absl::MutexLock lock(&mu_);
  GANDEM_ASSIGN_OR_RETURN(counters_, ReadRunCounters(options_.run_dir));
  earlier_incarnations_ = counters_.incarnation();
  last_tick_ = phase_since_ = options_.clock->Now();
  for (const WorkerKey key : options_.workers) {
    workers_.emplace_back().key = key;
  }
  if (!options_.external || counters_.run_epoch() == 0) {
    return TryBeginEpoch();
  }
  // Workers of an earlier coordinator may still be at work. Their unfinished
  // checkpoints stay until it is known that they do not come back.
  const auto newest = FindNewestCheckpoint(options_.run_dir);
  if (!newest.ok() && !absl::IsNotFound(newest.status())) {
    return newest.status();
  }
  committed_step_ = settled_step_ = newest.ok() ? newest->step : 0;
  first_round_ = -1;
  shards_ = ShardCollector(NumSavers(), options_.rounds);
  phase_ = Phase::kRejoining;
  AddEvent(absl::StrCat("waiting for the workers of run epoch ",
                        counters_.run_epoch(), " or new ones"));
  return absl::OkStatus();
}

absl::Status Coordinator::CountEpoch() {
  RunCounters next = counters_;
  next.set_run_epoch(counters_.run_epoch() + 1);
  GANDEM_RETURN_IF_ERROR(WriteRunCounters(options_.run_dir, next));
  GANDEM_FAILPOINT("coordinator.after_epoch");
  counters_ = next;
  phase_ = Phase::kGathering;
  phase_since_ = options_.clock->Now();
  for (Worker& worker : workers_) {
    worker.joined = false;
    worker.is_back = false;
    worker.waiting_since = phase_since_;
  }
  return absl::OkStatus();
}

absl::Status Coordinator::TryBeginEpoch() {
  GANDEM_RETURN_IF_ERROR(RemovePending(options_.run_dir));
  const auto newest = FindNewestCheckpoint(options_.run_dir);
  if (!newest.ok() && !absl::IsNotFound(newest.status())) {
    return newest.status();
  }
  GANDEM_RETURN_IF_ERROR(CountEpoch());
  keeps_state_ = false;
  changes_.clear();
  for (Worker& worker : workers_) worker.is_member = true;
  if (newest.ok()) {
    for (const std::string& skipped : newest->skipped_with_reason) {
      AddEvent(absl::StrCat("skipped a damaged checkpoint: ", skipped));
    }
  }
  first_round_ = newest.ok() ? newest->step : 0;
  resume_from_ = newest.ok() ? newest->path : "";
  committed_step_ = settled_step_ = first_round_;
  shards_ = ShardCollector(NumSavers(), options_.rounds);
  AddEvent(absl::StrCat(
      "run epoch ", counters_.run_epoch(), ": ",
      newest.ok() ? absl::StrCat("resuming after round ", first_round_, " of ",
                                 options_.rounds)
                  : "starting from the beginning"));
  if (first_round_ >= options_.rounds) {
    End({"finished", kExitOk,
         absl::StrCat("all ", options_.rounds, " rounds are done")});
  }
  return absl::OkStatus();
}

int Coordinator::NumSavers() const {
  return static_cast<int>(
      std::count_if(workers_.begin(), workers_.end(),
                    [](const Worker& worker) { return worker.is_member; }));
}

void Coordinator::BeginEpoch(const std::string& why) {
  AddEvent(absl::StrCat("new run epoch: ", why));
  if (!stop_reason_.empty()) {
    End({"stopped", kExitResumable,
         absl::StrCat(stop_reason_, ". ", NewestCheckpointText())});
    return;
  }
  const absl::Status status = TryBeginEpoch();
  if (status.ok()) return;
  End({"failed", ExitCodeOf(status),
       absl::StrCat("cannot start a run epoch: ",
                    std::string(status.message()))});
}

void Coordinator::HandleDeath(Worker& worker, const Death& death) {
  const bool in_epoch =
      worker.incarnation != 0 && worker.epoch == counters_.run_epoch();
  const bool is_missed = in_epoch || (GathersMemory() && worker.is_member);
  // Who dies of the end of an epoch has been counted with it.
  const bool aftermath =
      worker.incarnation != 0 && !in_epoch && death.process_is_gone;
  worker.incarnation = 0;
  worker.joined = false;
  worker.waiting_since = options_.clock->Now();  // for whoever comes next
  if (worker.pid != 0 && !death.process_is_gone) {
    worker.death_handled = true;
    worker.kill_at = options_.clock->Now() + death.kill_after;
  }
  if (phase_ == Phase::kOver) return;
  const std::string what = absl::StrCat(ToString(worker.key), " ", death.why);
  last_failure_ = what;
  if (death.exit_code == kExitUsage) {
    End({"failed", kExitUsage, what});
    return;
  }
  if (phase_ == Phase::kStopping) {
    End({"stopped", kExitResumable,
         absl::StrCat(what, " while the run was stopping. ",
                      NewestCheckpointText())});
    return;
  }
  if (!aftermath && ++restarts_ > options_.restart_budget) {
    End({"failed", kExitInternal,
         absl::StrCat(what, "; the budget of ", options_.restart_budget,
                      " restarts is used up. ", NewestCheckpointText())});
    return;
  }
  if (is_missed) {
    LoseWorker(worker, death.why);
  } else {
    AddEvent(what);
  }
}

void Coordinator::WorkerStarted(WorkerKey key, int64_t pid) {
  absl::MutexLock lock(&mu_);
  Worker* const worker = Find(key);
  if (worker == nullptr) return;
  worker->pid = pid;
  worker->death_handled = false;
  worker->kill_at = absl::InfiniteFuture();
  worker->waiting_since = options_.clock->Now();
}

void Coordinator::WorkerExited(WorkerKey key, int exit_code,
                               const std::string& how) {
  absl::MutexLock lock(&mu_);
  Worker* const worker = Find(key);
  if (worker == nullptr) return;
  const bool handled = worker->death_handled;
  worker->pid = 0;
  worker->death_handled = false;
  worker->kill_at = absl::InfiniteFuture();
  if (handled && exit_code != kExitUsage) return;
  HandleDeath(*worker,
              {.why = how, .exit_code = exit_code, .process_is_gone = true});
}

Coordinator::Wishes Coordinator::TakeWishes() {
  absl::MutexLock lock(&mu_);
  Wishes wishes;
  const absl::Time now = options_.clock->Now();
  // Fleets that re-form need nobody else to begin.
  const bool needs_all = phase_ == Phase::kGathering && !keeps_state_;
  const bool may_grow = phase_ == Phase::kRunning && options_.elastic;
  const bool starts = !options_.external && (needs_all || may_grow);
  for (Worker& worker : workers_) {
    if (worker.pid == 0 && starts) wishes.start.push_back(worker.key);
    if (worker.pid != 0 && worker.kill_at <= now) {
      wishes.kill.push_back(worker.key);
      worker.kill_at = absl::InfiniteFuture();
    }
  }
  return wishes;
}

void Coordinator::RequestStop(const std::string& reason) {
  absl::MutexLock lock(&mu_);
  Stop(reason);
}

void Coordinator::Stop(const std::string& reason) {
  if (phase_ == Phase::kOver || phase_ == Phase::kStopping) return;
  if (stop_reason_.empty() || phase_ == Phase::kRunning) {
    stop_deadline_ = options_.clock->Now() + options_.grace;
  }
  stop_reason_ = reason;
  const bool anybody =
      std::any_of(workers_.begin(), workers_.end(),
                  [](const Worker& worker) { return worker.incarnation != 0; });
  if (phase_ == Phase::kRunning) {
    phase_ = Phase::kStopping;
    AddEvent(absl::StrCat("stopping: ", reason));
    return;
  }
  // Workers that have not come back yet may hold rounds worth a checkpoint.
  if ((phase_ == Phase::kRejoining || GathersMemory()) && anybody) return;
  End({"stopped", kExitResumable,
       absl::StrCat(reason, ". ", NewestCheckpointText())});
}

void Coordinator::Advance() {
  if (phase_ != Phase::kRunning && phase_ != Phase::kStopping) return;
  bool all_finished = true;
  bool all_paused = true;
  int64_t last_started = -1;
  for (const Worker& worker : workers_) {
    if (!worker.is_member) continue;
    const HeartbeatRequest& progress = worker.progress;
    all_finished = all_finished && progress.finished();
    all_paused = all_paused && (progress.paused() || progress.finished());
    last_started = std::max(last_started, progress.started_round());
  }
  if (phase_ == Phase::kStopping && !cut_.has_value() && all_paused) {
    const int64_t every = options_.rounds_to_agreement;
    cut_ = (last_started + every) / every * every - 1;
    AddEvent(absl::StrCat("all workers stop after round ", *cut_ + 1));
  }
  const int64_t goal = cut_.has_value() ? *cut_ + 1 : options_.rounds;
  if (!cut_.has_value() && !all_finished) return;
  if (committed_step_ >= goal) {
    if (goal == options_.rounds) {
      End({"finished", kExitOk,
           absl::StrCat("all ", options_.rounds, " rounds are done")});
    } else {
      End({"stopped", kExitResumable,
           absl::StrCat(stop_reason_, ". ", NewestCheckpointText())});
    }
  } else if (settled_step_ >= goal) {
    End({"stopped", kExitResumable,
         absl::StrCat(last_failure_, ". ", NewestCheckpointText())});
  } else if (all_finished) {
    End({"failed", kExitInternal,
         absl::StrCat("all workers have finished, but the checkpoint of ", goal,
                      " rounds is incomplete")});
  }
}

void Coordinator::End(RunOutcome outcome) {
  phase_ = Phase::kOver;
  AddEvent(absl::StrCat(outcome.state, ": ", outcome.detail));
  outcome_ = std::move(outcome);
}

void Coordinator::Tick() {
  absl::MutexLock lock(&mu_);
  const absl::Time now = options_.clock->Now();
  const absl::Duration gap = now - last_tick_;
  last_tick_ = now;
  if (phase_ == Phase::kOver) return;
  // Nobody may be found dead before there was time to hear them again.
  const absl::Duration longest_gap = std::clamp(
      options_.heartbeat_timeout / 2, kShortestTickGap, kLongestTickGap);
  if (gap > longest_gap) {
    for (Worker& worker : workers_) {
      worker.last_seen += gap;
      worker.waiting_since += gap;
    }
    phase_since_ += gap;
    return;
  }
  CheckSilence(now);
  if (phase_ == Phase::kGathering || phase_ == Phase::kRunning) {
    CheckJoins(now);
  }
  if (phase_ == Phase::kRejoining &&
      now - phase_since_ > options_.join_timeout) {
    BeginEpoch("workers of the earlier epoch did not come back");
  }
  const bool stopping = phase_ != Phase::kOver && !stop_reason_.empty();
  if (stopping && now > stop_deadline_) {
    End({"stopped", kExitResumable,
         absl::StrCat("the workers did not reach a checkpoint within ",
                      absl::FormatDuration(options_.grace),
                      " (control.grace_seconds). ", NewestCheckpointText())});
  }
}

void Coordinator::CheckSilence(absl::Time now) {
  for (Worker& worker : workers_) {
    if (phase_ == Phase::kOver) return;
    if (worker.incarnation == 0 ||
        now - worker.last_seen <= options_.heartbeat_timeout) {
      continue;
    }
    HandleDeath(worker, {.why = absl::StrCat(
                             "was silent for more than ",
                             absl::FormatDuration(options_.heartbeat_timeout),
                             " (control.heartbeat_timeout_seconds)")});
  }
}

void Coordinator::CheckJoins(absl::Time now) {
  std::vector<Worker*> late;
  for (Worker& worker : workers_) {
    // Others are awaited while they are being started.
    const bool is_awaited = worker.is_member || worker.pid != 0;
    if (is_awaited && !worker.joined &&
        now - worker.waiting_since > options_.join_timeout) {
      late.push_back(&worker);
    }
  }
  if (late.empty()) return;
  if (!options_.external || keeps_state_) {
    HandleDeath(*late.front(), {.why = absl::StrCat(
                                    "was not ready within ",
                                    absl::FormatDuration(options_.join_timeout),
                                    " (control.join_timeout_seconds)")});
    return;
  }
  std::vector<std::string> names;
  for (const Worker* worker : late) names.push_back(ToString(worker->key));
  End({"stopped", kExitResumable,
       absl::StrCat(
           "not ready within ", absl::FormatDuration(options_.join_timeout),
           " (control.join_timeout_seconds): ", absl::StrJoin(names, ", "),
           ". ", NewestCheckpointText())});
}

std::optional<RunOutcome> Coordinator::outcome() {
  absl::MutexLock lock(&mu_);
  return outcome_;
}

bool Coordinator::AllToldToLeave() {
  absl::MutexLock lock(&mu_);
  return phase_ == Phase::kOver &&
         std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) {
           return w.incarnation == 0 || w.told_to_leave;
         });
}

std::vector<std::string> Coordinator::TakeEvents() {
  absl::MutexLock lock(&mu_);
  return std::exchange(events_, {});
}

void Coordinator::AddEvent(std::string event) {
  events_.push_back(std::move(event));
}

std::string Coordinator::NewestCheckpointText() const {
  if (committed_step_ == 0) return "There is no checkpoint yet";
  return absl::StrCat("The newest checkpoint has ", committed_step_, " of ",
                      options_.rounds, " rounds");
}

std::string Coordinator::WorkerState(const Worker& worker) const {
  if (worker.incarnation == 0) return worker.pid == 0 ? "absent" : "starting";
  if (!worker.joined) return "starting";
  if (phase_ == Phase::kGathering) return "ready";
  if (worker.progress.finished()) return "finished";
  return worker.progress.paused() ? "paused" : "running";
}

StatusReply Coordinator::Status() {
  absl::MutexLock lock(&mu_);
  StatusReply reply;
  reply.set_run_name(options_.run_name);
  switch (phase_) {
    case Phase::kRejoining:
    case Phase::kGathering:
      reply.set_state("starting");
      break;
    case Phase::kRunning:
      reply.set_state("running");
      break;
    case Phase::kStopping:
      reply.set_state("stopping");
      break;
    case Phase::kOver:
      reply.set_state(outcome_->state);
      break;
  }
  reply.set_detail(outcome_.has_value() ? outcome_->detail : last_failure_);
  reply.set_run_epoch(counters_.run_epoch());
  reply.set_rounds(options_.rounds);
  reply.set_last_checkpoint_step(committed_step_);
  reply.set_restarts(restarts_);
  reply.set_first_round(first_round_);
  int64_t completed = options_.rounds;
  const absl::Time now = options_.clock->Now();
  for (const Worker& worker : workers_) {
    // Whose shard is in a checkpoint has completed its rounds, heard or not.
    const int64_t rounds =
        worker.incarnation == 0
            ? committed_step_
            : std::max(committed_step_, worker.progress.completed_rounds());
    // A newcomer to fleets that re-form takes over the others' state.
    const bool counts =
        worker.is_member && (worker.incarnation != 0 || !keeps_state_);
    if (counts) completed = std::min(completed, rounds);
    WorkerStatus* const status = reply.add_workers();
    status->set_role(worker.key.role);
    status->set_rank(worker.key.rank);
    status->set_host(worker.host);
    status->set_pid(worker.pid != 0 ? worker.pid : worker.reported_pid);
    status->set_incarnation(worker.incarnation);
    status->set_state(WorkerState(worker));
    if (worker.incarnation != 0) {
      status->set_silent_seconds(absl::ToDoubleSeconds(now - worker.last_seen));
    }
    *status->mutable_last() = worker.last_metrics;
  }
  reply.set_completed_rounds(completed);
  return reply;
}

}  // namespace gandem
