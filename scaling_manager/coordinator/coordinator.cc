// SPDX-License-Identifier: Apache-2.0
//
// The workers' calls; epochs, deaths and the end of a run are in
// coordinator_epochs.cc, fleets that re-form in coordinator_reform.cc.
#include "scaling_manager/coordinator/coordinator.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/config/role_name.h"
#include "common/faults.h"
#include "common/files/crc32c.h"
#include "common/files/file.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "scaling_manager/coordinator/run_counters.h"

namespace gandem {
namespace {

constexpr int64_t kMaxHostBytes = 255;
constexpr int64_t kMaxAddressBytes = 4096;

uint32_t TextCrc32c(const std::string& text) {
  return Crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

absl::Status Superseded(const std::string& what) {
  return absl::FailedPreconditionError(what);
}

absl::Status CheckHeartbeat(const HeartbeatRequest& request, int64_t rounds) {
  Faults faults("heartbeat");
  faults.CheckRange("started_round", request.started_round(), -1, rounds - 1);
  faults.CheckRange("completed_rounds", request.completed_rounds(), 0,
                    request.started_round() + 1);
  return faults.ToStatus();
}

}  // namespace

std::string ToString(WorkerKey key) {
  return absl::StrCat(RoleName(key.role), " ", key.rank);
}

Coordinator::Coordinator(Options options)
    : options_(std::move(options)),
      config_crc32c_(TextCrc32c(options_.config_text)) {
  if (options_.evaluate_every > 0) {
    snapshots_.emplace(options_.run_dir, options_.evaluate_every,
                       options_.rounds);
  }
}

Coordinator::Worker* Coordinator::Find(WorkerKey key) {
  for (Worker& worker : workers_) {
    if (worker.key == key) return &worker;
  }
  return nullptr;
}

absl::StatusOr<Coordinator::Worker*> Coordinator::Speaker(int64_t incarnation) {
  if (incarnation <= 0) {
    return absl::InvalidArgumentError("the message carries no incarnation");
  }
  for (Worker& worker : workers_) {
    if (worker.incarnation == incarnation) {
      worker.last_seen = options_.clock->Now();
      return &worker;
    }
  }
  if (incarnation <= earlier_incarnations_) {
    return absl::NotFoundError(absl::StrCat("incarnation ", incarnation,
                                            " is of an earlier coordinator"));
  }
  return Superseded(absl::StrCat(
      "incarnation ", incarnation,
      " was superseded or declared dead: another process has registered with "
      "its role and rank, or it was silent for too long"));
}

bool Coordinator::AllJoined() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) {
    return !w.is_member || (w.incarnation != 0 && w.joined);
  });
}

absl::Status Coordinator::CheckPlace(const Worker& worker,
                                     const RegisterRequest& request) {
  if (request.binary_version() != options_.binary_version) {
    absl::Status refused = absl::InvalidArgumentError(absl::StrCat(
        ToString(worker.key), " on ", request.host(), " is of gandem '",
        request.binary_version(), "', this run of '", options_.binary_version,
        "': start workers of the same release"));
    AddEvent(std::string(refused.message()));
    return refused;
  }
  if (phase_ == Phase::kOver) {
    return Superseded(absl::StrCat("the run is over: ", outcome_->detail));
  }
  if (options_.external) return absl::OkStatus();
  if (worker.pid == 0) {
    return absl::UnavailableError(
        absl::StrCat("this run starts its own workers, and ",
                     ToString(worker.key), " is not running"));
  }
  if (worker.pid != request.pid()) {
    return Superseded(absl::StrCat(
        "this run starts its own workers (", ToString(worker.key),
        " is process ", worker.pid, "); use --external to start them by hand"));
  }
  return absl::OkStatus();
}

absl::StatusOr<RegisterReply> Coordinator::Register(
    const RegisterRequest& request) {
  absl::MutexLock lock(&mu_);
  Worker* const worker = Find({request.role(), request.rank()});
  if (worker == nullptr || request.host().size() > kMaxHostBytes) {
    std::vector<std::string> known;
    for (const Worker& other : workers_) known.push_back(ToString(other.key));
    return absl::InvalidArgumentError(absl::StrCat(
        "this run has no ", ToString({request.role(), request.rank()}),
        "; it has ", absl::StrJoin(known, ", ")));
  }
  GANDEM_RETURN_IF_ERROR(CheckPlace(*worker, request));
  if (request.continuing()) return ContinueWorker(*worker, request);
  if (options_.elastic) GANDEM_RETURN_IF_ERROR(CheckFence(*worker, request));
  const bool is_other_process =
      worker->reported_pid != request.pid() || worker->host != request.host();
  if (worker->incarnation != 0 && is_other_process) {
    AddEvent(absl::StrCat(ToString(worker->key), ": process ", request.pid(),
                          " on ", request.host(),
                          " takes the place of process ", worker->reported_pid,
                          " on ", worker->host));
  }

  if (phase_ == Phase::kRejoining) {
    BeginEpoch(absl::StrCat(ToString(worker->key), " started anew"));
  } else if (worker->incarnation != 0 &&
             worker->epoch == counters_.run_epoch() &&
             phase_ != Phase::kGathering) {
    HandleDeath(*worker, {.why = "registered again in the middle of the run",
                          .exit_code = kExitResumable,
                          .process_is_gone = true});
  }
  if (options_.elastic) GANDEM_RETURN_IF_ERROR(Gather(*worker, request));
  if (phase_ == Phase::kOver) {
    return Superseded(absl::StrCat("the run is over: ", outcome_->detail));
  }
  RunCounters next = counters_;
  next.set_incarnation(counters_.incarnation() + 1);
  GANDEM_RETURN_IF_ERROR(Annotate(WriteRunCounters(options_.run_dir, next),
                                  "the coordinator cannot write its counters"));
  GANDEM_FAILPOINT("coordinator.after_register");
  counters_ = next;

  worker->registered_from = request.previous_incarnation();
  worker->incarnation = next.incarnation();
  worker->epoch = next.run_epoch();
  worker->joined = false;
  worker->exchange_address.clear();
  worker->member.Clear();
  worker->host = request.host();
  worker->reported_pid = request.pid();
  worker->progress = HeartbeatRequest();
  worker->progress.set_started_round(first_round_ - 1);
  worker->progress.set_completed_rounds(first_round_);
  worker->last_seen = options_.clock->Now();
  worker->waiting_since = worker->last_seen;

  RegisterReply reply;
  reply.set_incarnation(worker->incarnation);
  reply.set_run_epoch(worker->epoch);
  reply.set_config_text(options_.config_text);
  reply.set_run_dir(options_.run_dir);
  reply.set_first_round(first_round_);
  reply.set_committed_step(committed_step_);
  if (keeps_state_) {
    SetPlace(*worker, reply);
  } else {
    reply.set_resume_from(resume_from_);
  }
  return reply;
}

absl::StatusOr<RegisterReply> Coordinator::ContinueWorker(
    Worker& worker, const RegisterRequest& request) {
  const int64_t incarnation = request.previous_incarnation();
  const int64_t epoch = counters_.run_epoch();
  RegisterReply refused;  // continue_running is false: register anew
  if (request.run_epoch() == epoch && worker.incarnation == incarnation &&
      worker.epoch == epoch && worker.joined) {
    // The reply to the first try was lost.
  } else if (worker.incarnation > incarnation && worker.epoch == epoch) {
    return Superseded(absl::StrCat("incarnation ", incarnation, " of ",
                                   ToString(worker.key), " was superseded"));
  } else if (phase_ != Phase::kRejoining) {
    return refused;
  } else if (request.run_epoch() != epoch ||
             request.config_crc32c() != config_crc32c_ || incarnation <= 0 ||
             incarnation > earlier_incarnations_ || request.round() < 0 ||
             request.round() > options_.rounds) {
    BeginEpoch(absl::StrCat(ToString(worker.key),
                            " is in another epoch or has another config"));
    return refused;
  }
  worker.incarnation = incarnation;
  worker.epoch = epoch;
  worker.joined = true;
  worker.host = request.host();
  worker.reported_pid = request.pid();
  worker.progress.set_completed_rounds(request.round());
  worker.progress.set_started_round(request.round() - 1);
  worker.last_seen = options_.clock->Now();
  if (phase_ == Phase::kRejoining && AllJoined()) {
    phase_ = Phase::kRunning;
    AddEvent(
        absl::StrCat("all workers are back and go on in run epoch ", epoch));
    if (!stop_reason_.empty()) Stop(stop_reason_);
  }
  RegisterReply reply;
  reply.set_incarnation(incarnation);
  reply.set_run_epoch(epoch);
  reply.set_config_text(options_.config_text);
  reply.set_run_dir(options_.run_dir);
  reply.set_continue_running(true);
  return reply;
}

absl::Status Coordinator::CheckReach(const Worker& discriminator) const {
  if (!absl::StartsWith(discriminator.exchange_address, "unix:")) {
    return absl::OkStatus();
  }
  for (const Worker& other : workers_) {
    const bool is_here = other.key.role == GENERATOR &&
                         other.incarnation != 0 &&
                         other.epoch == counters_.run_epoch();
    if (!is_here || other.host == discriminator.host) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(discriminator.key), " on ", discriminator.host,
        " serves a unix socket, which ", ToString(other.key), " on ",
        other.host,
        " cannot reach: pass --listen HOST:PORT to the discriminator worker"));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::CheckFleetReach(const Worker& worker) const {
  if (!worker.member.network_address().empty()) return absl::OkStatus();
  for (const Worker& other : workers_) {
    const bool is_here = other.key.role == worker.key.role &&
                         other.incarnation != 0 &&
                         other.epoch == counters_.run_epoch();
    if (!is_here || other.host == worker.host) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(worker.key), " on ", worker.host,
        " serves a unix socket, which ", ToString(other.key), " on ",
        other.host, " cannot reach: pass --fleet_listen HOST:PORT to all ",
        RoleName(worker.key.role), " workers"));
  }
  return absl::OkStatus();
}

int Coordinator::FleetSize(Role role) const {
  return static_cast<int>(std::count_if(
      workers_.begin(), workers_.end(),
      [&](const Worker& w) { return w.is_member && w.key.role == role; }));
}

int Coordinator::PositionOf(const Worker& worker) const {
  return static_cast<int>(
      std::count_if(workers_.begin(), workers_.end(), [&](const Worker& w) {
        return w.is_member && w.key.role == worker.key.role &&
               w.key.rank < worker.key.rank;
      }));
}

absl::Status Coordinator::CheckJoin(const Worker& worker,
                                    const JoinRequest& request) const {
  const bool serves = worker.key.role == DISCRIMINATOR;
  for (const std::string* address :
       {&request.exchange_address(), &request.fleet_local_address(),
        &request.fleet_network_address()}) {
    if (address->size() <= kMaxAddressBytes) continue;
    return absl::InvalidArgumentError("an address is too long");
  }
  if (serves == request.exchange_address().empty()) {
    return absl::InvalidArgumentError(
        serves ? "a discriminator must tell its exchange address"
               : "only a discriminator has an exchange address");
  }
  const bool is_found = !request.fleet_local_address().empty() ||
                        !request.fleet_network_address().empty();
  if (is_found != (FleetSize(worker.key.role) > 1)) {
    return absl::InvalidArgumentError(
        is_found ? "the only worker of a role needs no address for others"
                 : "a worker of a fleet must tell where the others find it");
  }
  return absl::OkStatus();
}

absl::StatusOr<JoinReply> Coordinator::Join(const JoinRequest& request) {
  absl::MutexLock lock(&mu_);
  GANDEM_ASSIGN_OR_RETURN(Worker* const worker, Speaker(request.incarnation()));
  JoinReply reply;
  if (phase_ == Phase::kOver) {
    worker->told_to_leave = true;
    reply.set_leave(true);
    return reply;
  }
  if (request.run_epoch() != counters_.run_epoch() ||
      worker->epoch != counters_.run_epoch()) {
    reply.set_epoch_superseded(true);
    return reply;
  }
  GANDEM_RETURN_IF_ERROR(CheckJoin(*worker, request));
  if (phase_ == Phase::kGathering) {
    worker->joined = true;
    worker->exchange_address = request.exchange_address();
    worker->compute = request.compute();
    worker->member.set_host(worker->host);
    worker->member.set_incarnation(worker->incarnation);
    worker->member.set_local_address(request.fleet_local_address());
    worker->member.set_network_address(request.fleet_network_address());
    // A worker on another host that came later makes an earlier one unfit: that
    // one learns it when it asks again.
    for (Worker& other : workers_) {
      if (other.joined &&
          (!CheckReach(other).ok() || !CheckFleetReach(other).ok())) {
        other.joined = false;
      }
    }
    GANDEM_RETURN_IF_ERROR(CheckReach(*worker));
    GANDEM_RETURN_IF_ERROR(CheckFleetReach(*worker));
    if (AllJoined()) BeginRounds();
  }
  if (phase_ == Phase::kGathering) return reply;
  reply.set_all_joined(true);
  const bool in_fleet = FleetSize(worker->key.role) > 1;
  for (const Worker& other : workers_) {  // sorted by role and rank
    if (!other.is_member) continue;
    if (in_fleet && other.key.role == worker->key.role) {
      *reply.add_fleet() = other.member;
    }
    if (other.key.role == DISCRIMINATOR) {
      reply.add_discriminator_addresses(other.exchange_address);
    }
  }
  *reply.mutable_generator_compute() = computes_[GENERATOR];
  *reply.mutable_discriminator_compute() = computes_[DISCRIMINATOR];
  return reply;
}

absl::StatusOr<HeartbeatReply> Coordinator::Heartbeat(
    const HeartbeatRequest& request) {
  absl::MutexLock lock(&mu_);
  GANDEM_ASSIGN_OR_RETURN(Worker* const worker, Speaker(request.incarnation()));
  GANDEM_RETURN_IF_ERROR(CheckHeartbeat(request, options_.rounds));
  if (request.stop_requested() && stop_reason_.empty()) {
    Stop(absl::StrCat(ToString(worker->key), " was asked to stop"));
  }
  HeartbeatReply reply;
  if (phase_ != Phase::kOver && (request.run_epoch() != counters_.run_epoch() ||
                                 worker->epoch != counters_.run_epoch())) {
    reply.set_epoch_superseded(true);
    return reply;
  }
  if (!request.failure().empty()) {
    HandleDeath(*worker, {.why = request.failure(),
                          .exit_code = request.failure_exit_code(),
                          .kill_after = absl::Seconds(5)});
    reply.set_leave(true);
    return reply;
  }
  if (phase_ != Phase::kOver && worker->joined) {
    worker->progress = request;
    worker->progress.clear_metrics();
    if (!request.metrics().empty()) {
      worker->last_metrics = *request.metrics().rbegin();
    }
    Advance();
  }
  reply.set_committed_step(committed_step_);
  reply.set_pause(phase_ == Phase::kStopping);
  if (cut_.has_value()) {
    reply.set_has_cut(true);
    reply.set_cut(*cut_);
  }
  if (phase_ == Phase::kOver) {
    worker->told_to_leave = true;
    reply.set_leave(true);
  }
  return reply;
}

absl::StatusOr<ShardReply> Coordinator::ReportShard(const ShardReport& report) {
  absl::MutexLock lock(&mu_);
  GANDEM_ASSIGN_OR_RETURN(Worker* const worker, Speaker(report.incarnation()));
  ShardReply reply;
  if (phase_ != Phase::kOver && (report.run_epoch() != counters_.run_epoch() ||
                                 worker->epoch != counters_.run_epoch())) {
    reply.set_epoch_superseded(true);
    return reply;
  }
  if (phase_ != Phase::kOver &&
      (report.step() > settled_step_ || report.step() < 1)) {
    const int index = static_cast<int>(worker - workers_.data());
    const auto state = shards_.Add(index, report);
    if (!state.ok()) {
      // Without it there would be no checkpoint, and nobody would know why.
      AddEvent(
          absl::StrCat(ToString(worker->key), "'s ", state.status().message()));
      return state.status();
    }
    GANDEM_FAILPOINT("coordinator.after_shard");
    if (*state == ShardCollector::State::kComplete) Commit(report.step());
    if (*state == ShardCollector::State::kFailed) {
      GiveUpCheckpoint(report.step(), shards_.Error(report.step()));
    }
  }
  reply.set_committed(report.step() <= committed_step_);
  return reply;
}

void Coordinator::Commit(int64_t step) {
  const absl::Status status = TryCommit(step);
  if (!status.ok()) {
    GiveUpCheckpoint(step, std::string(status.message()));
    return;
  }
  committed_step_ = settled_step_ = step;
  shards_.Settle(step);
  AddEvent(absl::StrCat("checkpoint of ", step, " rounds is complete"));
  if (snapshots_.has_value()) {
    const absl::Status kept = snapshots_->KeepDue();
    if (!kept.ok()) {
      AddEvent(absl::StrCat("the checkpoint cannot be kept to be judged: ",
                            std::string(kept.message())));
    }
  }
  const absl::Status pruned = PruneCheckpoints(
      options_.run_dir, options_.keep_last, options_.keep_every);
  if (!pruned.ok()) {
    AddEvent(absl::StrCat("old checkpoints could not be removed: ",
                          std::string(pruned.message())));
  }
  Advance();
}

absl::Status Coordinator::TryCommit(int64_t step) {
  CheckpointManifest manifest;
  manifest.set_step(step);
  manifest.set_run_epoch(counters_.run_epoch());
  manifest.set_config_hash(options_.config_hash);
  for (CheckpointFile& file : shards_.Files(step)) {
    *manifest.add_files() = std::move(file);
  }
  return CommitCheckpoint(options_.run_dir, manifest);
}

void Coordinator::GiveUpCheckpoint(int64_t step, const std::string& why) {
  settled_step_ = step;
  shards_.Settle(step);
  last_failure_ = absl::StrCat("the checkpoint of ", step,
                               " rounds could not be written: ", why);
  AddEvent(absl::StrCat(last_failure_, ". ", NewestCheckpointText()));
  const absl::Status removed = RemoveAll(
      PendingCheckpointPath(options_.run_dir, step, counters_.run_epoch()));
  if (!removed.ok()) AddEvent(std::string(removed.message()));
  Advance();
}

}  // namespace gandem
