// SPDX-License-Identifier: Apache-2.0
//
// The calls of the workers, and the validation of their requests, which any
// process may have sent. Checks that depend on the places of the run are in
// joining.h and checkpoint_commits.h.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/control/limits.h"
#include "common/control/worker_position.h"
#include "common/faults.h"
#include "common/files/printable.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "control_plane/coordinator/coordinator.h"
#include "control_plane/coordinator/epoch_status.h"
#include "control_plane/coordinator/joining.h"

namespace gandem {
namespace {

// Maximum lengths of texts in bytes; longer texts are truncated.
constexpr size_t kMaxVersion = 64;
constexpr size_t kMaxFailure = 4096;
constexpr size_t kMaxHost = 255;
constexpr size_t kMaxHostIdentity = 512;
constexpr size_t kMaxFileName = 255;
constexpr int64_t kMaxNumerics = 256;

bool IsOf(const RoundMetrics& metrics, WorkerKey worker) {
  const bool has_role =
      worker.role == COLOCATED
          ? metrics.role() == GENERATOR || metrics.role() == DISCRIMINATOR
          : metrics.role() == worker.role;
  return has_role && metrics.rank() == worker.rank;
}

// Refuses long host names, because truncated names may be equal.
absl::Status CheckRegistration(const RegisterRequest& request, int64_t rounds) {
  Faults faults("registration");
  if (request.holds_state()) {
    faults.CheckRange("round", request.round(), 0, rounds);
  }
  const std::string host = Printable(request.host(), kMaxHost);
  if (host != request.host()) {
    faults.Add(absl::StrCat("'", host, "' is no name of a host"));
  }
  const std::string& identity = request.host_identity();
  if (identity != Printable(identity, kMaxHostIdentity)) {
    faults.Add("host_identity is no identity of a host");
  }
  faults.CheckRange("number of numerics", request.numerics_size(), 0,
                    kMaxNumerics);
  for (const auto& [name, value] : request.numerics()) {
    if (name == Printable(name, kMaxHost) &&
        value == Printable(value, kMaxHost))
      continue;
    faults.Add("numerics have texts that are long or not printable");
    break;
  }
  return faults.ToStatus();
}

absl::Status CheckHeartbeat(const HeartbeatRequest& request, int64_t rounds) {
  Faults faults("heartbeat");
  faults.CheckRange("started_round", request.started_round(), -1, rounds - 1);
  // started_round may be any number here.
  faults.CheckRange("completed_rounds", request.completed_rounds(), 0,
                    std::min(request.started_round(), rounds - 1) + 1);
  CheckPosition(request.position(), rounds, faults);
  faults.CheckRange("resident_bytes", request.resident_bytes(), 0, INT64_MAX);
  return faults.ToStatus();
}

absl::Status CheckMetrics(const HeartbeatRequest& request, WorkerKey worker) {
  Faults faults("metrics");
  if (!faults.CheckRange("number of records", request.metrics_size(), 0,
                         kMaxMetricsPerHeartbeat)) {
    return faults.ToStatus();
  }
  for (const RoundMetrics& metrics : request.metrics()) {
    const std::string& grid = metrics.sample_grid();
    if (!IsOf(metrics, worker)) {
      faults.Add("they are of another worker");
    }
    if (grid != Printable(grid, kMaxFileName)) {
      faults.Add("sample_grid is no name of a file");
    }
    faults.CheckRange("run_epoch", metrics.run_epoch(), 0, request.run_epoch());
    if (!faults.empty()) break;  // one faulty record is enough
  }
  return faults.ToStatus();
}

ShardReport WithPrintableError(ShardReport report) {
  *report.mutable_error() = Printable(report.error(), kMaxFailure);
  return report;
}

}  // namespace

absl::StatusOr<const Place*> Coordinator::Speaker(int64_t incarnation) {
  auto place = machine_.Hear(incarnation, Now());
  if (absl::IsFailedPrecondition(place.status())) {
    TellRefusal(
        "a worker that was declared dead or replaced is back, and has to "
        "leave");
  }
  return place;
}

absl::Status Coordinator::CheckCaller(const Place& place,
                                      const RegisterRequest& request) {
  // Only the operator sees the version, because the caller is unknown.
  if (request.binary_version() != options_.binary_version) {
    TellRefusal(absl::StrCat(
        ToString(place.key), " on ", request.host(), " is of gandem '",
        Printable(request.binary_version(), kMaxVersion), "', this run of '",
        options_.binary_version, "': start workers of the same release"));
    return absl::InvalidArgumentError(
        absl::StrCat("this run is of another release of gandem than ",
                     ToString(place.key), ": start workers of the same ",
                     "release; the output of `gandem train` names both"));
  }
  if (IsOver()) return machine_.OverError();
  if (options_.epoch.external) return absl::OkStatus();
  if (place.pid == 0) {
    return absl::UnavailableError(
        absl::StrCat("this run starts its own workers, and ",
                     ToString(place.key), " is not running"));
  }
  if (!options_.starts_elsewhere && place.pid != request.pid()) {
    TellRefusal(absl::StrCat("process ", request.pid(), " on ", request.host(),
                             " wants to be ", ToString(place.key),
                             ", which is process ", place.pid));
    return absl::FailedPreconditionError(
        "this run starts its own workers; use --external to start them by "
        "hand");
  }
  return absl::OkStatus();
}

absl::StatusOr<RegisterReply> Coordinator::Register(
    const RegisterRequest& given) {
  absl::MutexLock lock(&mu_);
  const Membership& members = machine_.members();
  const Place* const place = members.Find({given.role(), given.rank()});
  GANDEM_RETURN_IF_ERROR(CheckRegistration(given, options_.epoch.rounds));
  if (place == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "this run has no ", ToString({given.role(), given.rank()}), "; it has ",
        absl::StrJoin(members.places(), ", ",
                      [](std::string* text, const Place& other) {
                        absl::StrAppend(text, ToString(other.key));
                      })));
  }
  RegisterRequest request = given;
  if (!options_.uses_gpus) request.mutable_numerics()->erase(kGpuNumerics);
  GANDEM_RETURN_IF_ERROR(CheckCaller(*place, request));
  EpochEffects effects;
  do {
    effects = Apply(WorkerCame{request});
  } while (effects.start.has_value());
  GANDEM_RETURN_IF_ERROR(effects.verdict);
  RunCounters next = counters_;
  const int64_t incarnation = RandomIncarnation();
  CountIncarnation(request, incarnation, next);
  GANDEM_RETURN_IF_ERROR(WriteCounters(next));
  GANDEM_FAILPOINT("coordinator.after_register");
  Apply(WorkerAdmitted{request, incarnation});
  return Assignment(*place);
}

RegisterReply Coordinator::Assignment(const Place& place) const {
  RegisterReply reply;
  reply.set_incarnation(place.incarnation);
  reply.set_run_epoch(place.epoch);
  reply.set_config_text(options_.config_text);
  reply.set_run_dir(options_.run_dir);
  reply.set_first_round(machine_.first_round());
  reply.set_committed_step(machine_.commits().committed_step());
  reply.set_rollbacks(counters_.rollbacks());
  reply.set_proof_file(proof_.file);
  *reply.mutable_chosen() = counters_.computes();
  SetPosition(machine_.members(), place, reply);
  if (machine_.members().source() == Membership::Source::kCheckpoint) {
    reply.set_resume_from(resume_from_);
    return reply;
  }
  reply.set_keep_state(true);
  const auto compute = computes_.find(place.key.role);
  if (compute != computes_.end()) *reply.mutable_compute() = compute->second;
  return reply;
}

absl::StatusOr<JoinReply> Coordinator::Join(const JoinRequest& request) {
  absl::MutexLock lock(&mu_);
  GANDEM_ASSIGN_OR_RETURN(const Place* const place,
                          Speaker(request.incarnation()));
  const Membership& members = machine_.members();
  JoinReply reply;
  if (IsOver()) {
    Apply(WorkerLeaves{place->key});
    reply.set_leave(true);
    return reply;
  }
  if (!members.IsCurrent(*place, request.run_epoch())) {
    reply.set_epoch_superseded(true);
    return reply;
  }
  GANDEM_RETURN_IF_ERROR(CheckJoin(members, *place, request));
  GANDEM_RETURN_IF_ERROR(CheckProof(*place, request, proof_, options_.run_dir));
  if (machine_.phase() == EpochMachine::Phase::kGathering) {
    // Choices for AUTO must be on disk before any round depends on them.
    RunCounters next = counters_;
    if (CountChoices(request, next)) {
      GANDEM_RETURN_IF_ERROR(WriteCounters(next));
      GANDEM_FAILPOINT("coordinator.after_choice");
    }
    GANDEM_RETURN_IF_ERROR(Apply(WorkerJoined{place->key, request}).verdict);
  }
  if (machine_.phase() == EpochMachine::Phase::kGathering) return reply;
  reply.set_all_joined(true);
  AddOthers(members, *place, reply);
  *reply.mutable_generator_compute() = computes_[GENERATOR];
  *reply.mutable_discriminator_compute() = computes_[DISCRIMINATOR];
  return reply;
}

absl::StatusOr<HeartbeatReply> Coordinator::Heartbeat(
    const HeartbeatRequest& request) {
  absl::MutexLock lock(&mu_);
  GANDEM_ASSIGN_OR_RETURN(const Place* const place,
                          Speaker(request.incarnation()));
  GANDEM_RETURN_IF_ERROR(CheckHeartbeat(request, options_.epoch.rounds));
  GANDEM_RETURN_IF_ERROR(CheckMetrics(request, place->key));
  if (request.stop_requested() && machine_.stopping().reason().empty()) {
    Apply(StopWanted{absl::StrCat(ToString(place->key), " was asked to stop")});
  }
  HeartbeatReply reply;
  if (!IsOver() && !machine_.members().IsCurrent(*place, request.run_epoch())) {
    reply.set_epoch_superseded(true);
    return reply;
  }
  for (const RoundMetrics& metrics : request.metrics()) {
    if (!options_.ends_on_health_warning) break;
    for (const HealthWarning& warning : metrics.health()) {
      healthy_rounds_ = std::min(healthy_rounds_, warning.since_round());
    }
  }
  if (!request.failure().empty()) {
    Apply(WorkerDied{.key = place->key,
                     .why = Printable(request.failure(), kMaxFailure),
                     .exit_code = request.failure_exit_code(),
                     .kill_after = absl::Seconds(5),
                     .states_differ = request.states_differ()});
    reply.set_leave(true);
    return reply;
  }
  Apply(WorkerProgressed{place->key, request});
  reply.set_committed_step(machine_.commits().committed_step());
  reply.set_settled_step(machine_.commits().settled_step());
  reply.set_pause(machine_.phase() == EpochMachine::Phase::kStopping);
  if (const auto cut = machine_.stopping().cut(); cut.has_value()) {
    reply.set_has_cut(true);
    reply.set_cut(*cut);
  }
  if (IsOver()) {
    Apply(WorkerLeaves{place->key});
    reply.set_leave(true);
  }
  return reply;
}

absl::StatusOr<ShardReply> Coordinator::ReportShard(const ShardReport& report) {
  ShardReply reply;
  {
    absl::MutexLock lock(&mu_);
    GANDEM_ASSIGN_OR_RETURN(const Place* const place,
                            Speaker(report.incarnation()));
    if (!IsOver() &&
        !machine_.members().IsCurrent(*place, report.run_epoch())) {
      reply.set_epoch_superseded(true);
      return reply;
    }
    GANDEM_RETURN_IF_ERROR(
        Apply(ShardReported{place->key, WithPrintableError(report)}).verdict);
    GANDEM_FAILPOINT("coordinator.after_shard");
  }
  CommitAll();
  absl::MutexLock lock(&mu_);
  reply.set_committed(report.step() <= machine_.commits().committed_step());
  reply.set_settled_step(machine_.commits().settled_step());
  return reply;
}

StatusReply Coordinator::Status() {
  absl::MutexLock lock(&mu_);
  StatusReply reply = StatusOf(machine_, Now());
  reply.set_run_name(options_.run_name);
  reply.set_rollbacks(counters_.rollbacks());
  return reply;
}

}  // namespace gandem
