// SPDX-License-Identifier: Apache-2.0
//
// Fleets that re-form (docs/fleets.md): run epochs that start from what their
// members hold in memory. Such an epoch begins when a worker is lost or comes
// (back). Its members end the epoch before and register again, but get no
// answer until all of them have done so or are lost: only then are their places
// known, and the round that all have completed. A death before that leaves one
// member less, a death after it begins the next epoch. Nothing waits here; the
// members ask again.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/config/role_name.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "scaling_manager/coordinator/coordinator.h"
#include "scaling_manager/coordinator/run_counters.h"

namespace gandem {
bool Coordinator::CanReform() const {
  const bool has_memory =
      (phase_ == Phase::kRunning && first_round_ >= 0) || GathersMemory();
  return options_.elastic && has_memory && committed_step_ < options_.rounds &&
         FleetSize(GENERATOR) > 0 && FleetSize(DISCRIMINATOR) > 0;
}

void Coordinator::LoseWorker(Worker& worker, const std::string& how) {
  if (options_.elastic) worker.is_member = false;
  if (CanReform()) {
    BeginReform(worker.key, how);
  } else {
    BeginEpoch(absl::StrCat(ToString(worker.key), " ", how));
  }
}

void Coordinator::BeginReform(WorkerKey key, const std::string& what) {
  changes_.emplace_back(key, what);
  if (IsReforming()) return;
  const absl::Status status = CountEpoch();
  if (!status.ok()) {
    End({"failed", ExitCodeOf(status),
         absl::StrCat("cannot start a run epoch: ",
                      std::string(status.message()))});
    return;
  }
  keeps_state_ = true;
  is_sealed_ = false;
  // What was given up may be written again.
  settled_step_ = committed_step_;
}

absl::Status Coordinator::CheckFence(const Worker& worker,
                                     const RegisterRequest& request) const {
  const int64_t incarnation = request.previous_incarnation();
  // Who worked under an earlier coordinator is not known here.
  if (incarnation <= earlier_incarnations_ ||
      incarnation == worker.incarnation ||
      incarnation == worker.registered_from) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("incarnation ", incarnation, " of ", ToString(worker.key),
                   " was superseded or declared dead"));
}

absl::Status Coordinator::Gather(Worker& worker,
                                 const RegisterRequest& request) {
  if (request.holds_state() &&
      (request.round() < 0 || request.round() > options_.rounds)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "round ", request.round(), " is not in [0, ", options_.rounds, "]"));
  }
  const bool is_replaced =
      worker.incarnation != 0 && request.previous_incarnation() == 0;
  if (GathersMemory() && worker.is_member && is_replaced) {
    HandleDeath(worker, {.why = "was replaced by another process",
                         .exit_code = kExitResumable,
                         .process_is_gone = true});
  }
  const bool may_come = IsReforming() || (phase_ == Phase::kRunning &&
                                          committed_step_ < options_.rounds);
  if (!worker.is_member && phase_ != Phase::kOver) {
    worker.waiting_since = options_.clock->Now();
    if (!may_come) {
      return absl::UnavailableError(
          absl::StrCat(ToString(worker.key), " has to wait: the others are ",
                       phase_ == Phase::kGathering ? "starting" : "stopping"));
    }
    worker.is_member = true;
    BeginReform(worker.key, "is back");
  }
  if (!IsReforming()) return absl::OkStatus();
  worker.is_back = true;
  worker.holds_state = request.holds_state();
  worker.held_rounds = request.round();
  worker.last_seen = options_.clock->Now();
  TrySeal();
  if (!IsReforming()) return absl::OkStatus();
  std::vector<std::string> missing;
  for (const Worker& other : workers_) {
    if (other.is_member && !other.is_back) {
      missing.push_back(ToString(other.key));
    }
  }
  return absl::UnavailableError(absl::StrCat("the fleets re-form and wait for ",
                                             absl::StrJoin(missing, ", ")));
}

void Coordinator::TrySeal() {
  int64_t first_round = options_.rounds;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    bool is_held = false;
    for (const Worker& worker : workers_) {
      if (!worker.is_member || worker.key.role != role) continue;
      if (!worker.is_back) return;
      if (!worker.holds_state) continue;
      is_held = true;
      first_round = std::min(first_round, worker.held_rounds);
    }
    if (!is_held) {
      BeginEpoch(absl::StrCat("no ", RoleName(role), " has a state any more"));
      return;
    }
  }
  is_sealed_ = true;
  first_round_ = first_round;
  shards_ = ShardCollector(NumSavers(), options_.rounds);
  // No member writes any more.
  const absl::Status removed = RemovePending(options_.run_dir);
  if (!removed.ok()) AddEvent(std::string(removed.message()));
}

void Coordinator::SetPlace(const Worker& worker, RegisterReply& reply) const {
  reply.set_keep_state(true);
  reply.set_position(PositionOf(worker));
  reply.set_generators(FleetSize(GENERATOR));
  reply.set_discriminators(FleetSize(DISCRIMINATOR));
  const auto compute = computes_.find(worker.key.role);
  if (compute != computes_.end()) *reply.mutable_compute() = compute->second;
}

void Coordinator::BeginRounds() {
  phase_ = Phase::kRunning;
  GANDEM_FAILPOINT("coordinator.after_join");
  computes_.clear();
  for (const Worker& worker : workers_) {  // sorted: the first one counts
    if (worker.is_member) computes_.emplace(worker.key.role, worker.compute);
  }
  for (const auto& [key, what] : std::exchange(changes_, {})) {
    const auto total = std::count_if(workers_.begin(), workers_.end(),
                                     [role = key.role](const Worker& worker) {
                                       return worker.key.role == role;
                                     });
    AddEvent(absl::StrCat(ToString(key), " ", what, "; its fleet goes on with ",
                          FleetSize(key.role), " of ", total,
                          " workers at round ", first_round_));
  }
  if (!keeps_state_) {
    AddEvent(absl::StrCat("all workers are ready; run epoch ",
                          counters_.run_epoch(), " starts at round ",
                          first_round_));
  }
  if (!stop_reason_.empty()) Stop(stop_reason_);
}

}  // namespace gandem
