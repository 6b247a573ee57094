// SPDX-License-Identifier: Apache-2.0
//
// Epochs, deaths, stopping and the end of a run. The workers' calls are in
// coordinator.cc, what time brings in coordinator_times.cc, fleets that re-form
// in coordinator_reform.cc, commits in coordinator_commits.cc.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/process/failpoint.h"
#include "common/results/run_folder.h"
#include "common/status.h"
#include "control_plane/coordinator/coordinator.h"
#include "control_plane/coordinator/state_name.h"

namespace gandem {
namespace {

constexpr absl::Duration kShownWait = absl::Milliseconds(100);
constexpr char kNewcomerAdvice[] =
    ", after it had taken the place of a worker that was well: start that one "
    "again";

}  // namespace

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Create(
    Options options) {
  GANDEM_ASSIGN_OR_RETURN(const RunCounters counters,
                          RunFolder(options.run_dir).ReadCounters());
  GANDEM_ASSIGN_OR_RETURN(FolderProof proof,
                          RunFolder(options.run_dir).RenewProof());
  std::unique_ptr<Coordinator> coordinator(
      new Coordinator(std::move(options), counters, std::move(proof)));
  GANDEM_RETURN_IF_ERROR(coordinator->Open());
  return coordinator;
}

absl::Status Coordinator::Open() {
  absl::MutexLock lock(&mu_);
  last_tick_ = phase_since_ = options_.clock->Now();
  if (!options_.external || counters_.run_epoch() == 0) {
    return TryBeginEpoch(/*rolls_back=*/false);
  }
  // Workers of an earlier coordinator may still be at work. Their unfinished
  // checkpoints stay until it is known that they do not come back.
  GANDEM_ASSIGN_OR_RETURN(const FoundCheckpoint newest,
                          RunFolder(options_.run_dir).NewestCheckpoint());
  commits_.BeginEpoch(counters_.run_epoch(), members_.NumMembers(),
                      newest.step);
  first_round_ = -1;
  phase_ = Phase::kRejoining;
  AddEvent(absl::StrCat("waiting for the workers of run epoch ",
                        counters_.run_epoch(), " or new ones"));
  return absl::OkStatus();
}

absl::Status Coordinator::CountEpoch(RunCounters next, bool from_memory) {
  next.set_run_epoch(counters_.run_epoch() + 1);
  GANDEM_RETURN_IF_ERROR(RunFolder(options_.run_dir).WriteCounters(next));
  GANDEM_FAILPOINT("coordinator.after_epoch");
  counters_ = next;
  phase_ = Phase::kGathering;
  phase_since_ = options_.clock->Now();
  members_.BeginEpoch(next.run_epoch(), from_memory, phase_since_);
  return absl::OkStatus();
}

absl::Status Coordinator::TryBeginEpoch(bool rolls_back) {
  GANDEM_RETURN_IF_ERROR(RemovePending(options_.run_dir));
  GANDEM_ASSIGN_OR_RETURN(const FoundCheckpoint newest,
                          RunFolder(options_.run_dir).NewestCheckpoint());
  RunCounters next = counters_;
  next.set_first_round(newest.step);
  next.set_rollbacks(newest.manifest.rollbacks());
  // Since that checkpoint the run may have gone back to it before.
  if (rolls_back || counters_.first_round() == newest.step) {
    next.set_rollbacks(std::max(next.rollbacks(), counters_.rollbacks()) +
                       (rolls_back ? 1 : 0));
  }
  GANDEM_RETURN_IF_ERROR(CountEpoch(next, /*from_memory=*/false));
  changes_.clear();
  for (const std::string& skipped : newest.skipped_with_reason) {
    AddEvent(absl::StrCat("skipped a damaged checkpoint: ", skipped));
  }
  first_round_ = newest.step;
  resume_from_ = newest.path;
  numerics_before_ = {newest.manifest.numerics().begin(),
                      newest.manifest.numerics().end()};
  AddEvent(absl::StrCat(
      "run epoch ", counters_.run_epoch(), ": ",
      newest.path.empty() ? "starting from the beginning"
                          : absl::StrCat("resuming after round ", first_round_,
                                         " of ", options_.rounds),
      LostRoundsText(first_round_)));
  commits_.BeginEpoch(counters_.run_epoch(), members_.NumMembers(),
                      first_round_);
  if (first_round_ >= options_.rounds) End(FinishedOutcome(options_.rounds));
  return absl::OkStatus();
}

void Coordinator::BeginEpoch(const std::string& why, bool rolls_back) {
  AddEvent(absl::StrCat("new run epoch: ", why));
  if (!stopping_.reason().empty()) {
    End(ResumableOutcome(stopping_.reason(), commits_));
    return;
  }
  BeginOrPostpone(/*from_memory=*/false, rolls_back);
}

void Coordinator::BeginOrPostpone(bool from_memory, bool rolls_back) {
  const absl::Time now = options_.clock->Now();
  PostponedEpoch next = {.from_memory = from_memory,
                         .rolls_back = rolls_back,
                         .give_up_at = now + options_.grace};
  if (postponed_.has_value()) {  // both have happened
    next.from_memory &= postponed_->from_memory;
    next.rolls_back |= postponed_->rolls_back;
    next.give_up_at = postponed_->give_up_at;
  }
  const absl::Status begun = next.from_memory
                                 ? CountEpoch(counters_, /*from_memory=*/true)
                                 : TryBeginEpoch(next.rolls_back);
  if (begun.ok()) {
    postponed_.reset();
  } else if (!DiskMayRecover(begun) || now >= next.give_up_at) {
    EndWithoutEpoch(begun);
  } else {
    if (!postponed_.has_value()) {
      AddEvent(absl::StrCat("the run epoch cannot begin: ", begun.message(),
                            PatienceText()));
    }
    next.next_try = now + kDiskRetryInterval;
    postponed_ = next;
  }
}

absl::Status Coordinator::WriteCounters(const RunCounters& next) {
  const absl::Status written =
      Annotate(RunFolder(options_.run_dir).WriteCounters(next),
               "the coordinator cannot write its counters");
  if (!DiskMayRecover(written)) return written;
  return absl::UnavailableError(written.message());
}

void Coordinator::TakeDeath(Place& place, Death death) {
  if (commits_.is_busy()) {
    deaths_.emplace_back(place.key, std::move(death));
  } else {
    HandleDeath(place, death);
  }
}

void Coordinator::HandleDeath(Place& place, const Death& death) {
  if (death.was_reaped) {
    const bool handled = place.death_handled;
    place.pid = 0;
    place.death_handled = false;
    place.kill_at = absl::InfiniteFuture();
    if (handled && death.exit_code != kExitUsage) return;
  }
  const bool in_epoch = members_.IsInEpoch(place);
  const bool is_missed = in_epoch || (GathersMemory() && place.is_member);
  // Who dies of the end of an epoch has been counted with it.
  const bool is_aftermath =
      place.incarnation != 0 && !in_epoch && death.process_is_gone;
  place.incarnation = 0;
  place.joined = false;
  place.waiting_since = options_.clock->Now();  // for whoever comes next
  if (place.pid != 0 && !death.process_is_gone) {
    place.death_handled = true;
    place.kill_at = options_.clock->Now() + death.kill_after;
  }
  if (phase_ == Phase::kOver) return;
  const bool is_newcomer = IsFailedNewcomer(place);
  if (is_newcomer) place.displacer = 0;
  const std::string why =
      absl::StrCat(death.why, is_newcomer ? kNewcomerAdvice : "");
  const std::string what = absl::StrCat(ToString(place.key), " ", why);
  stopping_.NoteFailure(what);
  if (death.exit_code == kExitUsage && !is_newcomer) {
    End({StatusReply::FAILED, kExitUsage, what});
  } else if (death.exit_code == kExitDiverged && in_epoch) {
    Diverge(what);
  } else if (phase_ == Phase::kStopping) {
    End(ResumableOutcome(absl::StrCat(what, " while the run was stopping"),
                         commits_));
  } else if (!is_aftermath && !is_newcomer && !SpendRestart(place)) {
    // What cannot be read is for the user to mend.
    End({StatusReply::FAILED,
         death.exit_code == kExitDamaged ? kExitUsage : kExitInternal,
         absl::StrCat(what, "; ", restarts_.UsedUpText(), ". ",
                      commits_.NewestText())});
  } else if (is_missed && !death.ranks_apart.empty()) {
    LeaveMemory(place.key.role, death.ranks_apart, what);
  } else if (is_missed) {
    LoseMember(place, why);
  } else if (phase_ == Phase::kGathering && !GathersMemory() &&
             restarts_.StartAt(place.key) > options_.clock->Now()) {
    BeginEpoch(what);  // the others have all their time to wait for it again
  } else {
    AddEvent(what);
  }
}

bool Coordinator::SpendRestart(const Place& place) {
  const absl::Time now = options_.clock->Now();
  if (!restarts_.Spend(place.key, now)) return false;
  const absl::Duration wait = restarts_.StartAt(place.key) - now;
  if (!options_.external && wait > absl::ZeroDuration()) {
    AddEvent(absl::StrCat(
        ToString(place.key), " has died again without a new round: it is ",
        "started in ", absl::FormatDuration(absl::Trunc(wait, kShownWait)),
        "; ", restarts_.left(), " of ", options_.restart_budget,
        " restarts are left"));
  }
  return true;
}

void Coordinator::Diverge(const std::string& what) {
  if (phase_ != Phase::kStopping &&
      counters_.rollbacks() < options_.max_rollbacks) {
    BeginEpoch(absl::StrCat(what, "; rollback ", counters_.rollbacks() + 1,
                            " of ", options_.max_rollbacks,
                            ": other noise from the newest checkpoint on"),
               /*rolls_back=*/true);
    return;
  }
  const std::string after =
      options_.max_rollbacks > 0
          ? absl::StrCat(" after ", counters_.rollbacks(), " rollbacks")
          : "";
  const absl::StatusOr<int64_t> good =
      MarkLastGood(options_.run_dir, healthy_rounds_);
  const std::string mark =
      good.ok()
          ? absl::StrCat("; checkpoints/last-good is that of step ", *good)
      : absl::IsNotFound(good.status())
          ? ""
          : absl::StrCat("; no checkpoints/last-good: ",
                         good.status().message());
  End({StatusReply::FAILED, kExitDiverged,
       absl::StrCat(what, after, ". ", commits_.NewestText(), mark,
                    "; only states that are finite are saved. Try a smaller "
                    "learning rate, clip_gradient_norm",
                    after.empty() ? ", or control.on_divergence: ROLLBACK" : "",
                    "; a setting that differs needs a new run folder")});
}

void Coordinator::WorkerStarted(WorkerKey key, int64_t pid) {
  absl::MutexLock lock(&mu_);
  Place* const place = members_.Find(key);
  if (place == nullptr) return;
  place->pid = pid;
  place->death_handled = false;
  place->kill_at = absl::InfiniteFuture();
  place->waiting_since = options_.clock->Now();
}

void Coordinator::WorkerExited(WorkerKey key, int exit_code,
                               const std::string& how) {
  absl::MutexLock lock(&mu_);
  Place* const place = members_.Find(key);
  if (place == nullptr) return;
  TakeDeath(*place, {.why = how,
                     .exit_code = exit_code,
                     .process_is_gone = true,
                     .was_reaped = true});
}

Coordinator::Wishes Coordinator::TakeWishes() {
  absl::MutexLock lock(&mu_);
  Wishes wishes;
  const absl::Time now = options_.clock->Now();
  // Fleets that re-form need nobody else to begin.
  const bool needs_all = phase_ == Phase::kGathering && !GathersMemory();
  const bool may_grow = phase_ == Phase::kRunning && options_.elastic;
  const bool starts = !options_.external && (needs_all || may_grow);
  for (Place& place : members_.places()) {
    if (place.pid == 0 && starts && !place.is_excluded &&
        restarts_.StartAt(place.key) <= now) {
      wishes.start.push_back(place.key);
    }
    if (place.pid != 0 && place.kill_at <= now) {
      wishes.kill.push_back(place.key);
      place.kill_at = absl::InfiniteFuture();
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
  stopping_.Request(reason, /*begins=*/phase_ == Phase::kRunning,
                    options_.clock->Now());
  if (phase_ == Phase::kRunning) {
    phase_ = Phase::kStopping;
    AddEvent(absl::StrCat("stopping: ", reason));
    return;
  }
  // Workers that have not come back yet may hold rounds worth a checkpoint.
  const bool anybody = std::ranges::any_of(
      members_.places(), [](const Place& p) { return p.incarnation != 0; });
  if ((phase_ == Phase::kRejoining || GathersMemory()) && anybody) return;
  End(ResumableOutcome(reason, commits_));
}

void Coordinator::Advance() {
  if (phase_ != Phase::kRunning && phase_ != Phase::kStopping) return;
  if (phase_ == Phase::kStopping && stopping_.DecideCut(members_.places())) {
    AddEvent(
        absl::StrCat("all workers stop after round ", *stopping_.cut() + 1));
  }
  // What is being committed may be what the end waits for.
  if (commits_.is_busy()) return;
  auto outcome = stopping_.Judge(members_.places(), commits_);
  if (outcome.has_value()) End(*std::move(outcome));
}

void Coordinator::AddRefusal(absl::string_view event) {
  const std::optional<int64_t> untold = refusals_.Pass(options_.clock->Now());
  if (!untold.has_value()) return;
  AddEvent(absl::StrCat(
      "refused: ", event,
      *untold == 0 ? "" : absl::StrCat(" (and ", *untold, " more before)")));
}

void Coordinator::EndWithoutEpoch(const absl::Status& why) {
  const std::string text =
      absl::StrCat("cannot start a run epoch: ", why.message());
  End(DiskMayRecover(why)
          ? ResumableOutcome(text, commits_)
          : RunOutcome{StatusReply::FAILED, ExitCodeOf(why), text});
}

void Coordinator::End(RunOutcome outcome) {
  phase_ = Phase::kOver;
  AddEvent(absl::StrCat(StateName(outcome.state), ": ", outcome.detail));
  stopping_.End(std::move(outcome));
}

std::optional<RunOutcome> Coordinator::outcome() {
  absl::MutexLock lock(&mu_);
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
