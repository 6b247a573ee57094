// SPDX-License-Identifier: Apache-2.0
//
// The workers' calls; epochs, deaths and the end of a run are in
// coordinator_epochs.cc, fleets that re-form in coordinator_reform.cc, commits
// in coordinator_commits.cc.
#include "control_plane/coordinator/coordinator.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/control/worker_position.h"
#include "common/crc32c.h"
#include "common/files/printable.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "control_plane/coordinator/joining.h"
#include "control_plane/coordinator/request_checks.h"
#include "control_plane/coordinator/run_files.h"

namespace gandem {
namespace {

// The others wait for a worker as long as it may take to join.
constexpr absl::Duration kLongestRestartWait = absl::Seconds(60);

void AppendName(std::string* text, const Place& place) {
  absl::StrAppend(text, ToString(place.key));
}

}  // namespace

Coordinator::Coordinator(Options options, const RunCounters& counters,
                         FolderProof proof)
    : options_(std::move(options)),
      config_crc32c_(TextCrc32c(options_.config_text)),
      proof_(std::move(proof)),
      pruner_({.run_dir = options_.run_dir,
               .keep_last = options_.keep_last,
               .keep_every = options_.keep_every}),
      counters_(counters),
      members_(options_.workers, counters),
      commits_(options_.rounds),
      stopping_({.rounds = options_.rounds,
                 .rounds_to_agreement = options_.rounds_to_agreement,
                 .grace = options_.grace}),
      restarts_({.run_name = options_.run_name,
                 .restarts = options_.restart_budget,
                 .longest_wait =
                     std::min(kLongestRestartWait, options_.join_timeout / 2)}),
      watch_(
          {.rounds = options_.rounds, .timeout = options_.progress_timeout}) {
  if (options_.evaluate_every > 0) {
    snapshots_.emplace(options_.run_dir, options_.evaluate_every,
                       options_.rounds);
  }
}

absl::StatusOr<Place*> Coordinator::Speaker(int64_t incarnation) {
  const absl::StatusOr<Place*> place = members_.Speaker(incarnation);
  if (absl::IsFailedPrecondition(place.status())) {
    AddRefusal(
        "a worker that was declared dead or replaced is back, and has to "
        "leave");
  }
  GANDEM_RETURN_IF_ERROR(place);
  (*place)->last_seen = options_.clock->Now();
  return place;
}

absl::Status Coordinator::CheckCaller(const Place& place,
                                      const RegisterRequest& request) {
  // Who has shown nothing is told nothing; the operator is.
  if (request.binary_version() != options_.binary_version) {
    AddRefusal(absl::StrCat(
        ToString(place.key), " on ", request.host(), " is of gandem '",
        Printable(request.binary_version(), kMaxVersion), "', this run of '",
        options_.binary_version, "': start workers of the same release"));
    return absl::InvalidArgumentError(
        absl::StrCat("this run is of another release of gandem than ",
                     ToString(place.key), ": start workers of the same ",
                     "release; the output of `gandem train` names both"));
  }
  if (phase_ == Phase::kOver) {
    return absl::FailedPreconditionError(
        absl::StrCat("the run is over: ", stopping_.outcome()->detail));
  }
  if (place.is_excluded) {
    return absl::FailedPreconditionError(absl::StrCat(
        ToString(place.key),
        " is excluded from this run: its state has left that of its fleet"));
  }
  if (!options_.external && place.pid == 0) {
    return absl::UnavailableError(
        absl::StrCat("this run starts its own workers, and ",
                     ToString(place.key), " is not running"));
  }
  if (!options_.external && !options_.starts_elsewhere &&
      place.pid != request.pid()) {
    AddRefusal(absl::StrCat("process ", request.pid(), " on ", request.host(),
                            " wants to be ", ToString(place.key),
                            ", which is process ", place.pid));
    return absl::FailedPreconditionError(
        "this run starts its own workers; use --external to start them by "
        "hand");
  }
  if (commits_.is_busy()) {
    return absl::UnavailableError("a checkpoint is being committed");
  }
  if (postponed_.has_value()) {
    return absl::UnavailableError("the run folder's disk takes nothing");
  }
  return absl::OkStatus();
}

absl::StatusOr<RegisterReply> Coordinator::Register(
    const RegisterRequest& request) {
  absl::MutexLock lock(&mu_);
  Place* const place = members_.Find({request.role(), request.rank()});
  GANDEM_RETURN_IF_ERROR(CheckRegistration(request));
  if (place == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "this run has no ", ToString({request.role(), request.rank()}),
        "; it has ", absl::StrJoin(members_.places(), ", ", AppendName)));
  }
  GANDEM_RETURN_IF_ERROR(CheckCaller(*place, request));
  if (request.continuing()) return ContinueWorker(*place, request);
  GANDEM_RETURN_IF_ERROR(members_.CheckFence(
      *place, request.previous_incarnation(), options_.elastic));
  const bool is_other_process = place->reported_pid != request.pid() ||
                                place->host_identity != HostIdentityOf(request);
  if (place->incarnation != 0 && is_other_process) {
    place->displacer = request.pid();
    AddEvent(absl::StrCat(ToString(place->key), ": process ", request.pid(),
                          " on ", request.host(),
                          " takes the place of process ", place->reported_pid,
                          " on ", place->host));
  }

  if (phase_ == Phase::kRejoining) {
    BeginEpoch(absl::StrCat(ToString(place->key), " started anew"));
  } else if (members_.IsInEpoch(*place) && phase_ != Phase::kGathering) {
    HandleDeath(*place, {.why = "registered again in the middle of the run",
                         .exit_code = kExitResumable,
                         .process_is_gone = true});
  }
  if (options_.elastic) GANDEM_RETURN_IF_ERROR(Gather(*place, request));
  if (phase_ == Phase::kOver) {
    return absl::FailedPreconditionError(
        absl::StrCat("the run is over: ", stopping_.outcome()->detail));
  }
  // It is asked for it when it joins, and somebody may have removed state/.
  GANDEM_RETURN_IF_ERROR(
      Annotate(MendFolderProof(options_.run_dir, proof_),
               "the coordinator cannot write to the run folder"));
  RunCounters next = counters_;
  const int64_t incarnation = RandomIncarnation();
  CountIncarnation(request, incarnation, next);
  GANDEM_RETURN_IF_ERROR(WriteCounters(next));
  GANDEM_FAILPOINT("coordinator.after_register");
  counters_ = next;
  members_.Admit(*place, request, incarnation, first_round_,
                 options_.clock->Now());
  return Assignment(*place);
}

RegisterReply Coordinator::Assignment(const Place& place) const {
  RegisterReply reply;
  reply.set_incarnation(place.incarnation);
  reply.set_run_epoch(place.epoch);
  reply.set_config_text(options_.config_text);
  reply.set_run_dir(options_.run_dir);
  reply.set_first_round(first_round_);
  reply.set_committed_step(commits_.committed_step());
  reply.set_rollbacks(counters_.rollbacks());
  reply.set_proof_file(proof_.file);
  *reply.mutable_chosen() = counters_.computes();
  SetPosition(members_, place, reply);
  if (members_.source() == Membership::Source::kCheckpoint) {
    reply.set_resume_from(resume_from_);
    return reply;
  }
  reply.set_keep_state(true);
  const auto compute = computes_.find(place.key.role);
  if (compute != computes_.end()) *reply.mutable_compute() = compute->second;
  return reply;
}

absl::StatusOr<RegisterReply> Coordinator::ContinueWorker(
    Place& place, const RegisterRequest& request) {
  const int64_t incarnation = request.previous_incarnation();
  const int64_t epoch = counters_.run_epoch();
  RegisterReply refused;  // continue_running is false: register anew
  if (request.run_epoch() == epoch && place.incarnation == incarnation &&
      place.epoch == epoch && place.joined) {
    // The reply to the first try was lost.
  } else if (place.newest != 0 && incarnation != place.newest) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the incarnation of ", ToString(place.key), " was superseded"));
  } else if (phase_ != Phase::kRejoining) {
    return refused;
  } else if (request.run_epoch() != epoch ||
             request.config_crc32c() != config_crc32c_ || incarnation <= 0 ||
             request.round() < 0 || request.round() > options_.rounds) {
    BeginEpoch(absl::StrCat(ToString(place.key),
                            " is in another epoch or has another config"));
    return refused;
  }
  place.incarnation = incarnation;
  place.epoch = epoch;
  place.joined = true;
  place.host = request.host();
  place.host_identity = HostIdentityOf(request);
  place.numerics = {request.numerics().begin(), request.numerics().end()};
  place.reported_pid = request.pid();
  place.progress.set_completed_rounds(request.round());
  place.progress.set_started_round(request.round() - 1);
  place.last_seen = options_.clock->Now();
  if (phase_ == Phase::kRejoining && members_.AllJoined()) {
    phase_ = Phase::kRunning;
    watch_.BeginEpoch(options_.clock->Now());
    CompareMachines({});
    AddEvent(
        absl::StrCat("all workers are back and go on in run epoch ", epoch));
    if (!stopping_.reason().empty()) Stop(stopping_.reason());
  }
  RegisterReply reply;
  reply.set_incarnation(incarnation);
  reply.set_run_epoch(epoch);
  reply.set_config_text(options_.config_text);
  reply.set_run_dir(options_.run_dir);
  reply.set_continue_running(true);
  return reply;
}

absl::StatusOr<JoinReply> Coordinator::Join(const JoinRequest& request) {
  absl::MutexLock lock(&mu_);
  GANDEM_ASSIGN_OR_RETURN(Place* const place, Speaker(request.incarnation()));
  JoinReply reply;
  if (phase_ == Phase::kOver) {
    place->told_to_leave = true;
    reply.set_leave(true);
    return reply;
  }
  if (IsSuperseded(*place, request.run_epoch())) {
    reply.set_epoch_superseded(true);
    return reply;
  }
  GANDEM_RETURN_IF_ERROR(CheckJoin(members_, *place, request));
  GANDEM_RETURN_IF_ERROR(CheckProof(*place, request, proof_, options_.run_dir));
  if (phase_ == Phase::kGathering) {
    GANDEM_RETURN_IF_ERROR(KeepChoices(request));
    GANDEM_RETURN_IF_ERROR(TakeJoin(members_, *place, request));
    place->displacer = 0;
    if (members_.AllJoined()) BeginRounds();
  }
  if (phase_ == Phase::kGathering) return reply;
  reply.set_all_joined(true);
  AddOthers(members_, *place, reply);
  *reply.mutable_generator_compute() = computes_[GENERATOR];
  *reply.mutable_discriminator_compute() = computes_[DISCRIMINATOR];
  return reply;
}

absl::StatusOr<HeartbeatReply> Coordinator::Heartbeat(
    const HeartbeatRequest& request) {
  absl::MutexLock lock(&mu_);
  GANDEM_ASSIGN_OR_RETURN(Place* const place, Speaker(request.incarnation()));
  GANDEM_RETURN_IF_ERROR(CheckHeartbeat(request, options_.rounds));
  GANDEM_RETURN_IF_ERROR(CheckMetrics(request, place->key));
  if (request.stop_requested() && stopping_.reason().empty()) {
    Stop(absl::StrCat(ToString(place->key), " was asked to stop"));
  }
  HeartbeatReply reply;
  if (phase_ != Phase::kOver && IsSuperseded(*place, request.run_epoch())) {
    reply.set_epoch_superseded(true);
    return reply;
  }
  if (options_.ends_on_health_warning) {
    for (const RoundMetrics& metrics : request.metrics()) {
      for (const HealthWarning& warning : metrics.health()) {
        healthy_rounds_ = std::min(healthy_rounds_, warning.since_round());
      }
    }
  }
  if (!request.failure().empty()) {
    // Positions are those of this epoch; the death may be handled in another.
    std::vector<int> ranks_apart;
    for (const int position : request.ranks_apart()) {
      const auto rank = members_.RankAt(place->key.role, position);
      if (rank.has_value()) ranks_apart.push_back(*rank);
    }
    TakeDeath(*place, {.why = Printable(request.failure(), kMaxFailure),
                       .exit_code = request.failure_exit_code(),
                       .kill_after = absl::Seconds(5),
                       .ranks_apart = std::move(ranks_apart)});
    reply.set_leave(true);
    return reply;
  }
  if (phase_ != Phase::kOver && place->joined) {
    place->progress = request;
    place->progress.clear_metrics();
    NoteFleetSign(*place);
    restarts_.NoteRounds(place->key, first_round_, request.completed_rounds(),
                         options_.clock->Now());
    if (!request.metrics().empty()) {
      place->last_metrics = *request.metrics().rbegin();
    }
    Advance();
  }
  NotePosition(*place, request);
  reply.set_committed_step(commits_.committed_step());
  reply.set_settled_step(commits_.settled_step());
  reply.set_pause(phase_ == Phase::kStopping);
  if (stopping_.cut().has_value()) {
    reply.set_has_cut(true);
    reply.set_cut(*stopping_.cut());
  }
  if (phase_ == Phase::kOver) {
    place->told_to_leave = true;
    reply.set_leave(true);
  }
  return reply;
}

absl::StatusOr<ShardReply> Coordinator::ReportShard(const ShardReport& report) {
  ShardReply reply;
  {
    absl::MutexLock lock(&mu_);
    GANDEM_ASSIGN_OR_RETURN(Place* const place, Speaker(report.incarnation()));
    if (phase_ != Phase::kOver) {
      if (IsSuperseded(*place, report.run_epoch())) {
        reply.set_epoch_superseded(true);
        return reply;
      }
      const int index = static_cast<int>(place - members_.places().data());
      const absl::StatusOr<bool> is_new =
          commits_.Add(index, WithPrintableError(report));
      if (!is_new.ok()) {
        // Without it there would be no checkpoint, and nobody would know why.
        AddEvent(absl::StrCat(ToString(place->key), "'s ",
                              is_new.status().message()));
        return is_new.status();
      }
      if (*is_new) {
        GANDEM_FAILPOINT("coordinator.after_shard");
      }
    }
  }
  CommitAll();
  absl::MutexLock lock(&mu_);
  reply.set_committed(report.step() <= commits_.committed_step());
  reply.set_settled_step(commits_.settled_step());
  return reply;
}

WorkerStatus Coordinator::Describe(const Place& place) const {
  WorkerStatus status;
  status.set_role(place.key.role);
  status.set_rank(place.key.rank);
  status.set_host(place.host);
  status.set_pid(place.pid != 0 ? place.pid : place.reported_pid);
  *status.mutable_last() = place.last_metrics;
  status.set_resident_bytes(place.progress.resident_bytes());
  if (place.incarnation != 0) {
    status.set_silent_seconds(
        absl::ToDoubleSeconds(options_.clock->Now() - place.last_seen));
    if (place.progress.has_position()) {
      *status.mutable_position() = PositionOf(place);
    }
  }
  if (place.incarnation == 0 && place.pid == 0) {
    status.set_state(WorkerStatus::ABSENT);
  } else if (!place.joined) {
    status.set_state(WorkerStatus::STARTING);
  } else if (phase_ == Phase::kGathering) {
    status.set_state(WorkerStatus::READY);
  } else if (place.progress.finished()) {
    status.set_state(WorkerStatus::FINISHED);
  } else {
    status.set_state(place.progress.paused() ? WorkerStatus::PAUSED
                                             : WorkerStatus::RUNNING);
  }
  return status;
}

StatusReply Coordinator::Status() {
  absl::MutexLock lock(&mu_);
  StatusReply reply;
  reply.set_run_name(options_.run_name);
  reply.set_state(phase_ == Phase::kOver       ? stopping_.outcome()->state
                  : phase_ == Phase::kStopping ? StatusReply::STOPPING
                  : phase_ == Phase::kRunning  ? StatusReply::RUNNING
                                               : StatusReply::STARTING);
  const int64_t committed_step = commits_.committed_step();
  reply.set_detail(stopping_.Detail());
  reply.set_run_epoch(counters_.run_epoch());
  reply.set_rounds(options_.rounds);
  reply.set_last_checkpoint_step(committed_step);
  reply.set_restarts(restarts_.total());
  reply.set_rollbacks(counters_.rollbacks());
  reply.set_first_round(first_round_);
  int64_t completed = options_.rounds;
  for (const Place& place : members_.places()) {
    // Whose shard is in a checkpoint has completed its rounds, heard or not.
    const int64_t rounds =
        place.incarnation == 0
            ? committed_step
            : std::max(committed_step, place.progress.completed_rounds());
    // A newcomer to fleets that re-form takes over the others' state.
    const bool counts = place.is_member &&
                        (place.incarnation != 0 ||
                         members_.source() == Membership::Source::kCheckpoint);
    if (counts) completed = std::min(completed, rounds);
    *reply.add_workers() = Describe(place);
  }
  reply.set_completed_rounds(completed);
  return reply;
}

}  // namespace gandem
