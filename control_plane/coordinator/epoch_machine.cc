// SPDX-License-Identifier: Apache-2.0
//
// States of a run and all transitions between them. The events that cause
// transitions are handled in epoch_machine_events.cc.
#include "control_plane/coordinator/epoch_machine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/status.h"
#include "control_plane/coordinator/state_name.h"

namespace gandem {
namespace {

// Maximum wait before a restart. All other workers wait as well.
constexpr absl::Duration kLongestRestartWait = absl::Seconds(60);

}  // namespace

EpochMachine::EpochMachine(EpochOptions options, const RunCounters& earlier)
    : options_(std::move(options)),
      members_(options_.workers, earlier),
      commits_(options_.rounds),
      stopping_({.rounds = options_.rounds,
                 .rounds_to_agreement = options_.rounds_to_agreement,
                 .grace = options_.grace}),
      restarts_({.restarts = options_.restart_budget,
                 .longest_wait =
                     std::min(kLongestRestartWait, options_.join_timeout / 2)}),
      watch_(
          {.rounds = options_.rounds, .timeout = options_.progress_timeout}) {}

EpochEffects EpochMachine::On(const EpochEvent& event, absl::Time now) {
  now_ = now;
  std::visit([this](const auto& it) { Handle(it); }, event);
  // Handle one death at a time: a death may start an epoch, and the next death
  // then belongs to the new epoch.
  while (!deaths_.empty() && !commits_.is_busy() &&
         !effects_.start.has_value() && !effects_.mark_last_good) {
    const WorkerDied death = std::move(deaths_.front());
    deaths_.pop_front();
    HandleDeath(death);
  }
  return std::exchange(effects_, {});
}

void EpochMachine::Start(EpochStart start) {
  if (starting_.has_value()) {  // combine both requests
    start.from_memory &= starting_->start.from_memory;
    start.rolls_back |= starting_->start.rolls_back;
    starting_->start = start;
  } else {
    starting_ = Starting{.start = start};
  }
  effects_.start = start;
}

void EpochMachine::StartFromCheckpoint(const std::string& why,
                                       bool rolls_back) {
  Tell(absl::StrCat("new run epoch: ", why));
  if (stopping_.reason().empty()) {
    Start({.rolls_back = rolls_back});
  } else {
    EndResumable(stopping_.reason());
  }
}

void EpochMachine::Reform(WorkerKey key, const std::string& what) {
  changes_.emplace_back(key, what);
  if (!IsReforming()) Start({.from_memory = true});
}

void EpochMachine::Handle(const EpochBegun& begun) {
  starting_.reset();
  phase_ = Phase::kGathering;
  phase_since_ = now_;
  members_.BeginEpoch(begun.run_epoch, begun.start.from_memory, now_);
  if (begun.start.from_memory) return;  // Seal() sets first_round_
  changes_.clear();
  first_round_ = begun.first_round;
  rollbacks_ = begun.rollbacks;
  int64_t completed = 0;
  for (const Place& place : members_.places()) {
    completed = std::max(completed, place.progress.completed_rounds());
  }
  Tell(absl::StrCat("run epoch ", begun.run_epoch, ": ",
                    first_round_ == 0
                        ? "starting from the beginning"
                        : absl::StrCat("resuming after round ", first_round_,
                                       " of ", options_.rounds),
                    completed <= first_round_
                        ? ""
                        : absl::StrCat("; ", completed - first_round_,
                                       " completed rounds are repeated")));
  commits_.BeginEpoch(begun.run_epoch, members_.NumMembers(), first_round_);
  if (first_round_ >= options_.rounds) End(FinishedOutcome(options_.rounds));
}

void EpochMachine::Handle(const EpochFailed& failed) {
  const bool is_first = starting_->give_up_at == absl::InfiniteFuture();
  if (is_first) starting_->give_up_at = now_ + options_.grace;
  const std::string text =
      absl::StrCat("cannot start a run epoch: ", failed.why.message());
  if (!DiskMayRecover(failed.why)) {
    End({StatusReply::FAILED, ExitCodeOf(failed.why), text});
  } else if (now_ >= starting_->give_up_at) {
    EndResumable(text);
  } else if (is_first) {
    Tell(absl::StrCat("the run epoch cannot begin: ", failed.why.message(),
                      PatienceText()));
  }
  starting_->next_try = now_ + kDiskRetryInterval;
}

std::string EpochMachine::PatienceText() const {
  return absl::StrCat(". Trying again for ",
                      absl::FormatDuration(options_.grace),
                      " (control.grace_seconds)");
}

absl::Status EpochMachine::OverError() const {
  return absl::FailedPreconditionError(
      absl::StrCat("the run is over: ", stopping_.outcome()->detail));
}

absl::Status EpochMachine::Seal() {
  const absl::StatusOr<int64_t> first_round = members_.Seal();
  if (absl::IsNotFound(first_round.status())) {
    StartFromCheckpoint(std::string(first_round.status().message()));
    return absl::OkStatus();
  }
  GANDEM_RETURN_IF_ERROR(first_round);
  first_round_ = *first_round;
  commits_.BeginEpoch(members_.run_epoch(), members_.NumMembers(),
                      commits_.committed_step());
  return absl::OkStatus();
}

void EpochMachine::BeginRounds() {
  phase_ = Phase::kRunning;
  watch_.BeginEpoch(now_);
  fleet_signs_.clear();
  effects_.rounds_begin = true;
  for (const auto& [key, what] : std::exchange(changes_, {})) {
    const auto total =
        std::ranges::count(members_.places(), key.role,
                           [](const Place& place) { return place.key.role; });
    Tell(absl::StrCat(ToString(key), " ", what, "; its fleet goes on with ",
                      members_.NumMembers(key.role), " of ", total,
                      " workers at round ", first_round_));
  }
  if (members_.source() == Membership::Source::kCheckpoint) {
    Tell(absl::StrCat("all workers are ready; run epoch ", members_.run_epoch(),
                      " starts at round ", first_round_));
  }
  if (!stopping_.reason().empty()) Stop(stopping_.reason());
}

bool EpochMachine::TakeProcess(Place& place, const WorkerDied& death) {
  if (death.was_reaped) {
    const bool was_handled = std::exchange(place.death_handled, false);
    place.pid = 0;
    place.kill_at = absl::InfiniteFuture();
    if (was_handled && death.exit_code != kExitUsage) return false;
  }
  place.incarnation = 0;
  place.joined = false;
  place.waiting_since = now_;  // for the next process
  if (place.pid != 0 && !death.process_is_gone) {
    place.death_handled = true;
    place.kill_at = now_ + death.kill_after;
  }
  return phase_ != Phase::kOver;
}

void EpochMachine::HandleDeath(const WorkerDied& death) {
  Place& place = At(death.key);
  const bool was_in_epoch = members_.IsInEpoch(place);
  // An exit that follows from the end of an earlier epoch is already counted.
  const bool is_aftermath =
      place.incarnation != 0 && !was_in_epoch && death.process_is_gone;
  const bool is_missed = was_in_epoch || (GathersMemory() && place.is_member);
  if (!TakeProcess(place, death)) return;
  const std::string what = absl::StrCat(ToString(place.key), " ", death.why);
  stopping_.NoteFailure(what);
  if (death.exit_code == kExitUsage) {
    End({StatusReply::FAILED, kExitUsage, what});
  } else if (death.exit_code == kExitDiverged && was_in_epoch) {
    Diverge(what);
  } else if (phase_ == Phase::kStopping) {
    EndResumable(absl::StrCat(what, " while the run was stopping"));
  } else if (!is_aftermath && !SpendRestart(place)) {
    // Only the user can repair an unreadable folder.
    const bool is_unreadable =
        death.exit_code == kExitDamaged && !death.states_differ;
    EndFailed(is_unreadable ? kExitUsage : kExitInternal,
              absl::StrCat(what, "; ", restarts_.UsedUpText()));
  } else if (is_missed) {
    HandleLoss(place, death);
  } else if (phase_ == Phase::kGathering && !GathersMemory() &&
             restarts_.StartAt(place.key) > now_) {
    StartFromCheckpoint(what);  // the other workers would wait too long
  } else {
    Tell(what);
  }
}

void EpochMachine::HandleLoss(Place& place, const WorkerDied& death) {
  // If the states differ, the memory of the majority is unusable too, because
  // it contains gradients of the faulty worker.
  if (options_.elastic && !death.states_differ) {
    place.is_member = false;
    if (CanReform()) return Reform(place.key, death.why);
  }
  StartFromCheckpoint(absl::StrCat(ToString(place.key), " ", death.why));
}

bool EpochMachine::CanReform() const {
  return (phase_ == Phase::kRunning || GathersMemory()) &&
         commits_.committed_step() < options_.rounds &&
         members_.NumMembers(GENERATOR) > 0 &&
         members_.NumMembers(DISCRIMINATOR) > 0;
}

bool EpochMachine::SpendRestart(const Place& place) {
  if (!restarts_.Spend(place.key, now_)) return false;
  const absl::Duration wait = restarts_.StartAt(place.key) - now_;
  if (!options_.external && wait > absl::ZeroDuration()) {
    Tell(absl::StrCat(ToString(place.key),
                      " has died again without a new round: it is started in ",
                      absl::FormatDuration(wait), "; ", restarts_.left(),
                      " of ", options_.restart_budget, " restarts are left"));
  }
  return true;
}

void EpochMachine::Diverge(const std::string& what) {
  if (phase_ != Phase::kStopping && rollbacks_ < options_.max_rollbacks) {
    StartFromCheckpoint(
        absl::StrCat(what, "; rollback ", rollbacks_ + 1, " of ",
                     options_.max_rollbacks,
                     ": other noise from the newest checkpoint on"),
        /*rolls_back=*/true);
    return;
  }
  diverged_ = what;
  effects_.mark_last_good = true;
}

void EpochMachine::Handle(const LastGoodMarked& marked) {
  const bool has_rolled_back = options_.max_rollbacks > 0;
  const std::string mark =
      marked.step.ok()
          ? absl::StrCat("; checkpoints/last-good is that of step ",
                         *marked.step)
      : absl::IsNotFound(marked.step.status())
          ? ""
          : absl::StrCat("; no checkpoints/last-good: ",
                         marked.step.status().message());
  End({StatusReply::FAILED, kExitDiverged,
       absl::StrCat(
           diverged_,
           has_rolled_back ? absl::StrCat(" after ", rollbacks_, " rollbacks")
                           : "",
           ". ", commits_.NewestText(), mark,
           "; only states that are finite are saved. Try a smaller "
           "learning rate, clip_gradient_norm",
           has_rolled_back ? "" : ", or control.on_divergence: ROLLBACK",
           "; a setting that differs needs a new run folder")});
}

void EpochMachine::Handle(const StopWanted& wanted) { Stop(wanted.reason); }

void EpochMachine::Stop(const std::string& reason) {
  if (phase_ == Phase::kOver || phase_ == Phase::kStopping) return;
  stopping_.Request(reason, /*begins=*/phase_ == Phase::kRunning, now_);
  if (phase_ == Phase::kRunning) {
    phase_ = Phase::kStopping;
    Tell(absl::StrCat("stopping: ", reason));
    return;
  }
  // Workers that have not registered again may hold rounds worth a checkpoint.
  const bool anybody = std::ranges::any_of(
      members_.places(), [](const Place& p) { return p.incarnation != 0; });
  if (!GathersMemory() || !anybody) EndResumable(reason);
}

void EpochMachine::Advance() {
  if (phase_ != Phase::kRunning && phase_ != Phase::kStopping) return;
  if (phase_ == Phase::kStopping && stopping_.DecideCut(members_.places())) {
    Tell(absl::StrCat("all workers stop after round ", *stopping_.cut() + 1));
  }
  // The outcome may depend on the checkpoint that is being committed.
  if (commits_.is_busy()) return;
  auto outcome = stopping_.Judge(members_.places(), commits_);
  if (outcome.has_value()) End(*std::move(outcome));
}

void EpochMachine::EndFailed(int exit_code, const std::string& what) {
  End({StatusReply::FAILED, exit_code,
       absl::StrCat(what, ". ", commits_.NewestText())});
}

void EpochMachine::End(RunOutcome outcome) {
  phase_ = Phase::kOver;
  effects_.start.reset();
  Tell(absl::StrCat(StateName(outcome.state), ": ", outcome.detail));
  stopping_.End(std::move(outcome));
}

std::optional<RunOutcome> EpochMachine::outcome() const {
  std::optional<RunOutcome> outcome = stopping_.outcome();
  if (outcome.has_value()) {
    outcome->is_known_to_all =
        std::ranges::all_of(members_.places(), [](const Place& place) {
          return place.incarnation == 0 || place.told_to_leave;
        });
  }
  return outcome;
}

}  // namespace gandem
