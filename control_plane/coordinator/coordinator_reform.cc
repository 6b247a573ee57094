// SPDX-License-Identifier: Apache-2.0
//
// Fleets that re-form (docs/fleets.md): run epochs that start from what their
// members hold in memory. Such an epoch begins when a worker is lost or comes
// (back). Its members end the epoch before and register again, but get no
// answer until all of them have done so or are lost: only then are their
// positions known, and the round that all have completed. A death before that
// leaves one member less, a death after it begins the next epoch. Nothing waits
// here; the members ask again.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "control_plane/coordinator/coordinator.h"

namespace gandem {

bool Coordinator::CanReform() const {
  const bool has_memory =
      (phase_ == Phase::kRunning && first_round_ >= 0) || GathersMemory();
  return options_.elastic && has_memory &&
         commits_.committed_step() < options_.rounds &&
         members_.NumMembers(GENERATOR) > 0 &&
         members_.NumMembers(DISCRIMINATOR) > 0;
}

void Coordinator::LoseMember(Place& place, const std::string& how) {
  if (options_.elastic) place.is_member = false;
  if (CanReform()) {
    BeginReform(place.key, how);
  } else {
    BeginEpoch(absl::StrCat(ToString(place.key), " ", how));
  }
}

void Coordinator::BeginReform(WorkerKey key, const std::string& what) {
  changes_.emplace_back(key, what);
  if (IsReforming()) return;
  BeginOrPostpone(/*from_memory=*/true, /*rolls_back=*/false);
}

absl::Status Coordinator::Gather(Place& place, const RegisterRequest& request) {
  if (request.holds_state() &&
      (request.round() < 0 || request.round() > options_.rounds)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "round ", request.round(), " is not in [0, ", options_.rounds, "]"));
  }
  const bool is_replaced =
      place.incarnation != 0 && request.previous_incarnation() == 0;
  if (GathersMemory() && place.is_member && is_replaced) {
    HandleDeath(place, {.why = "was replaced by another process",
                        .exit_code = kExitResumable,
                        .process_is_gone = true});
  }
  const bool may_come =
      IsReforming() || (phase_ == Phase::kRunning &&
                        commits_.committed_step() < options_.rounds);
  if (!place.is_member && phase_ != Phase::kOver) {
    place.waiting_since = options_.clock->Now();
    if (!may_come) {
      return absl::UnavailableError(
          absl::StrCat(ToString(place.key), " has to wait: the others are ",
                       phase_ == Phase::kGathering ? "starting" : "stopping"));
    }
    place.is_member = true;
    BeginReform(place.key, "is back");
  }
  if (!IsReforming()) return absl::OkStatus();
  place.is_back = true;
  place.holds_state = request.holds_state();
  place.held_rounds = request.round();
  place.last_seen = options_.clock->Now();
  return TrySeal();
}

absl::Status Coordinator::TrySeal() {
  const absl::StatusOr<int64_t> first_round = members_.Seal();
  if (absl::IsNotFound(first_round.status())) {
    BeginEpoch(std::string(first_round.status().message()));
    return absl::OkStatus();
  }
  GANDEM_RETURN_IF_ERROR(first_round);
  first_round_ = *first_round;
  commits_.BeginEpoch(counters_.run_epoch(), members_.NumMembers(),
                      commits_.committed_step());
  return absl::OkStatus();
}

void Coordinator::BeginRounds() {
  // Every member has joined this run epoch: none writes checkpoints of an older
  // one any more, and none writes for this one yet.
  const absl::Status removed = RemovePending(options_.run_dir);
  if (!removed.ok()) AddEvent(std::string(removed.message()));
  phase_ = Phase::kRunning;
  watch_.BeginEpoch(options_.clock->Now());
  fleet_signs_.clear();
  GANDEM_FAILPOINT("coordinator.after_join");
  computes_.clear();
  for (const Place& place : members_.places()) {  // the first of a role counts
    if (place.is_member) computes_.emplace(place.key.role, place.compute);
  }
  for (const auto& [key, what] : std::exchange(changes_, {})) {
    const auto total =
        std::ranges::count(members_.places(), key.role,
                           [](const Place& place) { return place.key.role; });
    AddEvent(absl::StrCat(ToString(key), " ", what, "; its fleet goes on with ",
                          members_.NumMembers(key.role), " of ", total,
                          " workers at round ", first_round_));
  }
  const bool is_resumed = members_.source() == Membership::Source::kCheckpoint;
  CompareMachines(is_resumed ? numerics_before_
                             : std::vector<WorkerNumerics>());
  if (is_resumed) {
    AddEvent(absl::StrCat("all workers are ready; run epoch ",
                          counters_.run_epoch(), " starts at round ",
                          first_round_));
  }
  if (!stopping_.reason().empty()) Stop(stopping_.reason());
}

Numerics Coordinator::NumericsOf(const Place& place) const {
  Numerics numerics = place.numerics;
  if (!options_.uses_gpus) numerics.erase(kGpuNumerics);
  return numerics;
}

void Coordinator::CompareMachines(const std::vector<WorkerNumerics>& before) {
  std::vector<OwnedNumerics> all;
  for (const WorkerNumerics& entry : before) {
    all.push_back({.owner = "the checkpoint",
                   .numerics = {entry.values().begin(), entry.values().end()}});
  }
  numerics_.clear();
  for (const Place& place : members_.places()) {
    if (!place.is_member) continue;
    all.push_back(
        {.owner = NameWithHost(place), .numerics = NumericsOf(place)});
    const auto& own = all.back().numerics;
    auto entry = std::ranges::find_if(numerics_, [&own](const auto& other) {
      return Numerics(other.values().begin(), other.values().end()) == own;
    });
    if (entry == numerics_.end()) {
      entry = numerics_.emplace(entry);
      entry->mutable_values()->insert(own.begin(), own.end());
    }
    entry->add_workers(all.back().owner);
  }
  const std::string differences = NumericsDifferences(all);
  if (differences.empty()) return;
  AddEvent(absl::StrCat("WARNING: machines differ: ", differences, "; ",
                        kNumericsAdvice));
}

}  // namespace gandem
