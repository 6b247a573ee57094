// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/epoch_status.h"

#include <algorithm>

namespace gandem {
namespace {

using Phase = EpochMachine::Phase;

WorkerStatus::State StateOf(const Place& place, Phase phase) {
  if (place.incarnation == 0 && place.pid == 0) return WorkerStatus::ABSENT;
  if (!place.joined) return WorkerStatus::STARTING;
  if (phase == Phase::kGathering) return WorkerStatus::READY;
  if (place.progress.finished()) return WorkerStatus::FINISHED;
  return place.progress.paused() ? WorkerStatus::PAUSED : WorkerStatus::RUNNING;
}

WorkerStatus Describe(const Place& place, Phase phase, absl::Time now) {
  WorkerStatus status;
  status.set_role(place.key.role);
  status.set_rank(place.key.rank);
  status.set_host(place.host);
  status.set_pid(place.pid != 0 ? place.pid : place.reported_pid);
  *status.mutable_last() = place.last_metrics;
  status.set_resident_bytes(place.progress.resident_bytes());
  status.set_state(StateOf(place, phase));
  if (place.incarnation == 0) return status;
  status.set_silent_seconds(absl::ToDoubleSeconds(now - place.last_seen));
  if (place.progress.has_position()) {
    *status.mutable_position() = PositionAt(place, now);
  }
  return status;
}

}  // namespace

StatusReply StatusOf(const EpochMachine& machine, absl::Time now) {
  const Membership& members = machine.members();
  const Phase phase = machine.phase();
  const int64_t committed_step = machine.commits().committed_step();
  StatusReply reply;
  reply.set_state(phase == Phase::kOver       ? machine.outcome()->state
                  : phase == Phase::kStopping ? StatusReply::STOPPING
                  : phase == Phase::kRunning  ? StatusReply::RUNNING
                                              : StatusReply::STARTING);
  reply.set_detail(machine.stopping().Detail());
  reply.set_run_epoch(members.run_epoch());
  reply.set_rounds(machine.options().rounds);
  reply.set_last_checkpoint_step(committed_step);
  reply.set_restarts(machine.restarts());
  reply.set_first_round(machine.first_round());
  int64_t completed = machine.options().rounds;
  for (const Place& place : members.places()) {
    // The worker of a shard has completed the checkpoint's rounds.
    const int64_t rounds =
        place.incarnation == 0
            ? committed_step
            : std::max(committed_step, place.progress.completed_rounds());
    // A new worker in fleets that re-form takes over the state of the others.
    const bool counts = place.is_member &&
                        (place.incarnation != 0 ||
                         members.source() == Membership::Source::kCheckpoint);
    if (counts) completed = std::min(completed, rounds);
    *reply.add_workers() = Describe(place, phase, now);
  }
  reply.set_completed_rounds(completed);
  return reply;
}

}  // namespace gandem
