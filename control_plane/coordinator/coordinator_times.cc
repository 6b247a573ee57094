// SPDX-License-Identifier: Apache-2.0
//
// What time brings: silence, joins and stops that take too long, and what is
// tried again.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/control/limits.h"
#include "control_plane/coordinator/coordinator.h"

namespace gandem {
namespace {

// A longer gap between two ticks means that this process did not run (stopped,
// suspended, a slow disk): the workers' silence says nothing then.
constexpr absl::Duration kLongestTickGap = absl::Seconds(5);
constexpr absl::Duration kShortestTickGap = absl::Milliseconds(500);

}  // namespace

std::vector<std::string> Coordinator::Tick() {
  CommitAll();  // what is tried again
  absl::MutexLock lock(&mu_);
  const absl::Time now = options_.clock->Now();
  const absl::Duration gap = now - last_tick_;
  last_tick_ = now;
  // Nobody may be found dead or stuck before there was time to hear them again.
  absl::Duration shortest_timeout = options_.heartbeat_timeout;
  if (options_.progress_timeout > absl::ZeroDuration()) {
    shortest_timeout = std::min(shortest_timeout, *options_.progress_timeout);
  }
  const absl::Duration longest_gap =
      std::clamp(shortest_timeout / 2, kShortestTickGap, kLongestTickGap);
  if (gap > longest_gap) {
    for (Place& place : members_.places()) {
      place.last_seen += gap;
      place.waiting_since += gap;
    }
    for (auto& [role, sign] : fleet_signs_) sign.time += gap;
    phase_since_ += gap;
    stopping_.Skip(gap);
    watch_.Skip(now);
  } else if (commits_.is_busy() || phase_ == Phase::kOver) {
    watch_.Skip(now);
  } else if (postponed_.has_value()) {
    watch_.Skip(now);
    CheckPostponed(now);
  } else {
    CheckTimes(now);
  }
  CheckGrace(now);
  restarts_.EndTick();
  if (const auto lag = commits_.TakeLag(); lag.has_value()) {
    AddEvent(absl::StrCat("checkpoints are late: ", IncompleteText(*lag),
                          ", and ", lag->later, " later ones wait"));
  }
  return std::exchange(events_, {});
}

void Coordinator::CheckPostponed(absl::Time now) {
  if (now < postponed_->next_try) return;
  if (stopping_.reason().empty()) {
    BeginOrPostpone(postponed_->from_memory, postponed_->rolls_back);
  } else {
    End(ResumableOutcome(stopping_.reason(), commits_));
  }
}

void Coordinator::CheckTimes(absl::Time now) {
  CheckSilence(now);
  if (phase_ == Phase::kRunning) CheckProgress(now);
  if (phase_ == Phase::kGathering || phase_ == Phase::kRunning) {
    CheckJoins(now);
  }
  if (phase_ == Phase::kRejoining &&
      now - phase_since_ > options_.join_timeout) {
    BeginEpoch("workers of the earlier epoch did not come back");
  }
}

void Coordinator::CheckGrace(absl::Time now) {
  // A commit that is under way has as long again: its disk may be slow.
  const absl::Time latest = commits_.is_busy() ? now - options_.grace : now;
  if (phase_ != Phase::kOver && stopping_.IsLate(latest)) {
    End(ResumableOutcome(
        absl::StrCat("the workers did not reach a checkpoint within ",
                     absl::FormatDuration(options_.grace),
                     " (control.grace_seconds)"),
        commits_));
  }
}

// Heartbeats of many workers on a busy machine can be late by more than the
// timeout. No rank of a fleet gets beyond a sum that another one has not added
// to, so the rounds of one are signs of life of all.
absl::Time Coordinator::LastSign(const Place& place) const {
  const auto fleet = fleet_signs_.find(place.key.role);
  if (fleet == fleet_signs_.end() || !members_.IsInEpoch(place) ||
      !place.joined || members_.NumMembers(place.key.role) < 2) {
    return place.last_seen;
  }
  return std::max(place.last_seen, fleet->second.time);
}

void Coordinator::CheckSilence(absl::Time now) {
  for (Place& place : members_.places()) {
    if (phase_ == Phase::kOver) return;
    if (place.incarnation == 0 ||
        now - LastSign(place) <= options_.heartbeat_timeout) {
      continue;
    }
    HandleDeath(place, {.why = absl::StrCat(
                            "was silent for more than ",
                            absl::FormatDuration(options_.heartbeat_timeout),
                            " (control.heartbeat_timeout_seconds)")});
  }
}

void Coordinator::CheckJoins(absl::Time now) {
  bool measures = false;
  for (const Place& place : members_.places()) {
    measures = measures ||
               (members_.IsInEpoch(place) && !place.joined &&
                place.progress.position().wait() == WorkerPosition::MEASURE);
  }
  if (measures &&
      now - phase_since_ < kMeasuringJoins * options_.join_timeout) {
    for (Place& place : members_.places()) place.waiting_since = now;
  }
  std::vector<Place*> late;
  for (Place& place : members_.places()) {
    // Others are awaited while they are being started.
    const bool is_awaited = place.is_member || place.pid != 0;
    if (is_awaited && !place.joined &&
        now - place.waiting_since > options_.join_timeout) {
      late.push_back(&place);
    }
  }
  if (late.empty()) return;
  const std::string limit =
      absl::StrCat("within ", absl::FormatDuration(options_.join_timeout),
                   " (control.join_timeout_seconds)");
  if (!options_.external ||
      members_.source() != Membership::Source::kCheckpoint) {
    HandleDeath(*late.front(), {.why = absl::StrCat("was not ready ", limit)});
    return;
  }
  const std::string names =
      absl::StrJoin(late, ", ", [](std::string* text, const Place* place) {
        absl::StrAppend(text, ToString(place->key));
      });
  End(ResumableOutcome(absl::StrCat("not ready ", limit, ": ", names),
                       commits_));
}

}  // namespace gandem
