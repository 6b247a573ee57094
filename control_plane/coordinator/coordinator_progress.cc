// SPDX-License-Identifier: Apache-2.0
//
// Runs that stand still, what their workers wait for, and
// how they compute.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "control_plane/coordinator/coordinator.h"
#include "control_plane/coordinator/joining.h"
#include "control_plane/coordinator/run_files.h"

namespace gandem {

void Coordinator::NotePosition(Place& place, const HeartbeatRequest& request) {
  if (!request.has_position()) return;
  WorkerPosition& position = *place.progress.mutable_position();
  position = request.position();
  const std::optional<int> rank =
      members_.RankAt(position.whom(), position.rank());
  if (rank.has_value()) position.set_rank(*rank);
}

void Coordinator::NoteFleetSign(const Place& place) {
  const int64_t sums =
      place.progress.completed_rounds() / options_.rounds_to_agreement;
  FleetSign& sign = fleet_signs_[place.key.role];
  if (sums > sign.sums) sign = {.sums = sums, .time = place.last_seen};
}

WorkerPosition Coordinator::PositionOf(const Place& place) const {
  WorkerPosition position = place.progress.position();
  const absl::Duration since = options_.clock->Now() - place.last_seen;
  position.set_seconds(position.seconds() +
                       std::max(0.0, absl::ToDoubleSeconds(since)));
  return position;
}

void Coordinator::CheckProgress(absl::Time now) {
  std::vector<ProgressWatch::Worker> workers;
  for (const Place& place : members_.places()) {
    if (!place.is_member) continue;
    workers.push_back({.key = place.key,
                       .completed_rounds = place.progress.completed_rounds(),
                       .position = PositionOf(place)});
  }
  const std::optional<ProgressWatch::Stall> stall = watch_.Judge(workers, now);
  if (!stall.has_value()) return;
  Place& suspect = *members_.Find(stall->suspect);
  std::string why = absl::StrCat("is taken for stuck: ", stall->text);
  if (options_.external) {
    absl::StrAppend(&why, "; end its process ", suspect.reported_pid, " on ",
                    suspect.host, " if it does not leave, and start it again");
  }
  HandleDeath(suspect, {.why = std::move(why)});
}

absl::Status Coordinator::KeepChoices(const JoinRequest& request) {
  RunCounters next = counters_;
  if (!CountChoices(request, next)) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(WriteCounters(next));
  GANDEM_FAILPOINT("coordinator.after_choice");
  counters_ = next;
  return absl::OkStatus();
}

}  // namespace gandem
