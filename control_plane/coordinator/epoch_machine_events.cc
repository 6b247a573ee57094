// SPDX-License-Identifier: Apache-2.0
//
// Events of workers, checkpoints and time; epoch_machine.cc has transitions.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/control/limits.h"
#include "common/status.h"
#include "control_plane/coordinator/epoch_machine.h"
#include "control_plane/coordinator/joining.h"

namespace gandem {

void EpochMachine::Handle(const ProcessStarted& started) {
  Place& place = At(started.key);
  place.pid = started.pid;
  place.death_handled = false;
  place.kill_at = absl::InfiniteFuture();
  place.waiting_since = now_;
}

void EpochMachine::Handle(const WorkerCame& came) {
  const RegisterRequest& request = came.request;
  effects_.verdict = Receive(At({request.role(), request.rank()}), request);
  if (phase_ == Phase::kOver) effects_.verdict = OverError();
}

absl::Status EpochMachine::Receive(Place& place,
                                   const RegisterRequest& request) {
  if (phase_ == Phase::kOver) return OverError();
  if (commits_.is_busy()) {
    return absl::UnavailableError("a checkpoint is being committed");
  }
  if (starting_.has_value()) {
    return absl::UnavailableError("the run folder's disk takes nothing");
  }
  GANDEM_RETURN_IF_ERROR(members_.CheckFence(
      place, request.previous_incarnation(), options_.elastic));
  const bool is_other_process = place.reported_pid != request.pid() ||
                                place.host_identity != HostIdentityOf(request);
  if (place.incarnation != 0 && is_other_process) {
    Tell(absl::StrCat(ToString(place.key), ": process ", request.pid(), " on ",
                      request.host(), " takes the place of process ",
                      place.reported_pid, " on ", place.host));
  }
  WorkerDied predecessor = {.key = place.key,
                            .why = "",
                            .exit_code = kExitResumable,
                            .process_is_gone = true};
  if (members_.IsInEpoch(place) && phase_ != Phase::kGathering) {
    predecessor.why = "registered again in the middle of the run";
  } else if (GathersMemory() && place.is_member && place.incarnation != 0 &&
             request.previous_incarnation() == 0) {
    predecessor.why = "was replaced by another process";
  }
  if (!predecessor.why.empty()) HandleDeath(predecessor);
  if (!options_.elastic || effects_.start.has_value()) return absl::OkStatus();
  return Gather(place, request);
}

absl::Status EpochMachine::Gather(Place& place,
                                  const RegisterRequest& request) {
  if (!place.is_member) {
    place.waiting_since = now_;
    const bool may_come =
        IsReforming() || (phase_ == Phase::kRunning &&
                          commits_.committed_step() < options_.rounds);
    if (!may_come) {
      return absl::UnavailableError(
          absl::StrCat(ToString(place.key), " has to wait: the others are ",
                       phase_ == Phase::kGathering ? "starting" : "stopping"));
    }
    place.is_member = true;
    Reform(place.key, "is back");
  }
  if (!IsReforming()) return absl::OkStatus();
  place.is_back = true;
  place.holds_state = request.holds_state();
  place.held_rounds = request.round();
  place.last_seen = now_;
  return Seal();
}

void EpochMachine::Handle(const WorkerAdmitted& admitted) {
  const RegisterRequest& request = admitted.request;
  members_.Admit(At({request.role(), request.rank()}), request,
                 admitted.incarnation, first_round_, now_);
}

void EpochMachine::Handle(const WorkerJoined& joined) {
  if (phase_ != Phase::kGathering) return;
  effects_.verdict = TakeJoin(members_, At(joined.key), joined.request);
  if (effects_.verdict.ok() && members_.AllJoined()) BeginRounds();
}

void EpochMachine::Handle(const WorkerProgressed& progressed) {
  Place& place = At(progressed.key);
  HeartbeatRequest progress = progressed.request;
  WorkerPosition& position = *progress.mutable_position();
  const auto rank = members_.RankAt(position.whom(), position.rank());
  if (rank.has_value()) position.set_rank(*rank);
  if (!progressed.request.has_position()) progress.clear_position();
  if (!place.joined || phase_ == Phase::kOver) {
    if (!progress.has_position()) return;
    *place.progress.mutable_position() = progress.position();
    return;
  }
  if (!progress.metrics().empty()) {
    place.last_metrics = *progress.metrics().rbegin();
  }
  progress.clear_metrics();
  place.progress = std::move(progress);
  const int64_t completed = place.progress.completed_rounds();
  const int64_t sums = completed / options_.rounds_to_agreement;
  FleetSign& sign = fleet_signs_[place.key.role];
  if (sums > sign.sums) sign = {.sums = sums, .time = now_};
  restarts_.NoteRounds(place.key, first_round_, completed, now_);
  Advance();
}

void EpochMachine::Handle(const WorkerLeaves& leaves) {
  At(leaves.key).told_to_leave = true;
}

EpochMachine::Wishes EpochMachine::TakeWishes(absl::Time now) {
  Wishes wishes;
  // Fleets that re-form start without additional workers.
  const bool needs_all = phase_ == Phase::kGathering && !GathersMemory();
  const bool may_grow = phase_ == Phase::kRunning && options_.elastic;
  const bool starts = !options_.external && (needs_all || may_grow);
  for (Place& place : members_.places()) {
    if (place.pid == 0 && starts && restarts_.StartAt(place.key) <= now) {
      wishes.start.push_back(place.key);
    }
    if (place.pid != 0 && place.kill_at <= now) {
      wishes.kill.push_back(place.key);
      place.kill_at = absl::InfiniteFuture();
    }
  }
  return wishes;
}

absl::StatusOr<const Place*> EpochMachine::Hear(int64_t incarnation,
                                                absl::Time now) {
  GANDEM_ASSIGN_OR_RETURN(Place* const place, members_.Speaker(incarnation));
  place->last_seen = now;
  return place;
}

void EpochMachine::Handle(const ShardReported& reported) {
  if (phase_ == Phase::kOver) return;
  const auto index = &At(reported.key) - members_.places().data();
  effects_.verdict =
      commits_.Add(static_cast<int>(index), reported.report).status();
  if (effects_.verdict.ok()) return;
  // A refused report means that the checkpoint will not exist.
  Tell(absl::StrCat(ToString(reported.key), "'s ", effects_.verdict.message()));
}

// Retries only the commit of the checkpoint that ends the run.
void EpochMachine::Handle(const CheckpointWritten& written) {
  CheckpointCommits::Job job = written.job;
  if (!DiskMayRecover(written.done) || job.step != stopping_.goal() ||
      phase_ == Phase::kOver) {
    return;
  }
  if (job.give_up_at == absl::InfiniteFuture()) {
    job.give_up_at = now_ + options_.grace;
    Tell(absl::StrCat("the last checkpoint, of ", job.step,
                      " rounds, could not be written: ", written.done.message(),
                      PatienceText()));
  }
  if (now_ >= job.give_up_at) return;
  job.next_try = now_ + kDiskRetryInterval;
  commits_.PutBack(std::move(job));
  effects_.verdict = absl::UnavailableError("it is tried again");
}

void EpochMachine::Handle(const CheckpointSettled& settled) {
  const std::string text = commits_.Settle(settled.job, settled.done);
  if (settled.done.ok()) {
    Tell(text);
  } else if (settled.job.parting.has_value()) {
    parting_ = {*settled.job.parting, std::string(settled.done.message())};
  } else if (!parting_.has_value()) {
    stopping_.NoteFailure(text);
    Tell(absl::StrCat(text, ". ", commits_.NewestText()));
  }
  // A checkpoint with differing states does not end the run.
  if (!parting_.has_value()) Advance();
  if (commits_.is_busy() || !parting_.has_value()) return;
  HandleParting(parting_->first, parting_->second);
  parting_.reset();
}

void EpochMachine::HandleParting(const CheckpointCommits::Parting& parting,
                                 const std::string& text) {
  if (phase_ == Phase::kOver) return;
  std::vector<std::string> names;
  for (const size_t i : parting.apart) {
    names.push_back(NameWithHost(members_.places()[parting.workers[i]]));
  }
  std::vector<OwnedNumerics> machines;
  for (const int worker : parting.workers) {
    const Place& place = members_.places()[worker];
    machines.push_back(
        {.owner = NameWithHost(place), .numerics = place.numerics});
  }
  const std::string unlike = NumericsDifferences(machines);
  const std::string what = absl::StrCat(
      text, ". ", absl::StrJoin(names, " and "),
      names.size() == machines.size() ? " cannot tell which of them is right"
      : names.size() == 1             ? " differs from most of its fleet"
                                      : " differ from most of their fleet",
      ". ",
      unlike.empty() ? "A memory, a processor or a program is at fault"
                     : absl::StrCat("Their machines are not alike: ", unlike));
  stopping_.NoteFailure(what);
  const Place& first = members_.places()[parting.workers[parting.apart[0]]];
  if (phase_ == Phase::kStopping) {
    EndResumable(what);
  } else if (restarts_.Spend(first.key, now_)) {
    StartFromCheckpoint(what);
  } else {
    EndFailed(kExitInternal, absl::StrCat(what, "; ", restarts_.UsedUpText()));
  }
}

void EpochMachine::Handle(const TimePassed& /*passed*/) {
  restarts_.EndTick();
  if (commits_.is_busy() || phase_ == Phase::kOver) {
    watch_.Skip(now_);
  } else if (starting_.has_value()) {
    watch_.Skip(now_);
    if (now_ >= starting_->next_try) {
      if (stopping_.reason().empty()) {
        Start(starting_->start);
      } else {
        EndResumable(stopping_.reason());
      }
    }
  } else {
    CheckSilence();
    if (deaths_.empty() && phase_ == Phase::kRunning) CheckProgress();
    if (deaths_.empty() && phase_ <= Phase::kRunning) CheckJoins();
  }
  // Double the grace period during a commit, because disks may be slow.
  const absl::Time latest = commits_.is_busy() ? now_ - options_.grace : now_;
  if (phase_ != Phase::kOver && stopping_.IsLate(latest)) {
    EndResumable(absl::StrCat("the workers did not reach a checkpoint within ",
                              absl::FormatDuration(options_.grace),
                              " (control.grace_seconds)"));
  }
}

// Heartbeats of many workers on a busy machine can arrive later than the
// timeout. An all-reduce needs every rank, so a completed one shows that all
// workers of the role were alive.
absl::Time EpochMachine::LastSign(const Place& place) const {
  const auto fleet = fleet_signs_.find(place.key.role);
  if (fleet == fleet_signs_.end() || !members_.IsInEpoch(place) ||
      !place.joined || members_.NumMembers(place.key.role) < 2) {
    return place.last_seen;
  }
  return std::max(place.last_seen, fleet->second.time);
}

void EpochMachine::CheckSilence() {
  for (const Place& place : members_.places()) {
    if (place.incarnation == 0 ||
        now_ - LastSign(place) <= options_.heartbeat_timeout) {
      continue;
    }
    Handle(WorkerDied{
        .key = place.key,
        .why = absl::StrCat("was silent for more than ",
                            absl::FormatDuration(options_.heartbeat_timeout),
                            " (control.heartbeat_timeout_seconds)")});
  }
}

void EpochMachine::CheckProgress() {
  std::vector<ProgressWatch::Worker> workers;
  for (const Place& place : members_.places()) {
    if (!place.is_member) continue;
    workers.push_back({.key = place.key,
                       .completed_rounds = place.progress.completed_rounds(),
                       .position = PositionAt(place, now_)});
  }
  const std::optional<ProgressWatch::Stall> stall = watch_.Judge(workers, now_);
  if (!stall.has_value()) return;
  const Place& suspect = At(stall->suspect);
  std::string why = absl::StrCat("is taken for stuck: ", stall->text);
  if (options_.external) {
    absl::StrAppend(&why, "; end its process ", suspect.reported_pid, " on ",
                    suspect.host, " if it does not leave, and start it again");
  }
  Handle(WorkerDied{.key = suspect.key, .why = std::move(why)});
}

void EpochMachine::CheckJoins() {
  const bool measures =
      std::ranges::any_of(members_.places(), [this](const Place& place) {
        return members_.IsInEpoch(place) && !place.joined &&
               place.progress.position().wait() == WorkerPosition::MEASURE;
      });
  std::vector<std::string> late;
  std::optional<WorkerKey> first;
  for (Place& place : members_.places()) {
    if (measures &&
        now_ - phase_since_ < kMeasuringJoins * options_.join_timeout) {
      place.waiting_since = now_;
    }
    // Workers that are not members count only while they are being started.
    const bool is_awaited = place.is_member || place.pid != 0;
    if (is_awaited && !place.joined &&
        now_ - place.waiting_since > options_.join_timeout) {
      late.push_back(ToString(place.key));
      if (!first.has_value()) first = place.key;
    }
  }
  if (late.empty()) return;
  const std::string limit =
      absl::StrCat("within ", absl::FormatDuration(options_.join_timeout),
                   " (control.join_timeout_seconds)");
  if (options_.external &&
      members_.source() == Membership::Source::kCheckpoint) {
    EndResumable(
        absl::StrCat("not ready ", limit, ": ", absl::StrJoin(late, ", ")));
    return;
  }
  Handle(
      WorkerDied{.key = *first, .why = absl::StrCat("was not ready ", limit)});
}

}  // namespace gandem
