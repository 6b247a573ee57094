// SPDX-License-Identifier: Apache-2.0
//
// Events of a run and their effects: input and output of EpochMachine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/config/worker_key.h"
#include "common/process/exit_code.h"
#include "control_plane/coordinator/checkpoint_commits.h"
#include "proto/control.pb.h"

namespace gandem {

// How the next run epoch starts.
struct EpochStart {
  // Start from the state in the members' memory, not from a checkpoint.
  bool from_memory = false;
  bool rolls_back = false;  // after divergence: use different noise
};

// Actions for the owner of the machine after an event, in this order.
struct EpochEffects {
  std::vector<std::string> news = {};  // messages for the operator
  // All members have joined, so none still writes an older epoch's checkpoints.
  bool rounds_begin = false;
  // Protect the last good checkpoint from pruning, then send LastGoodMarked.
  bool mark_last_good = false;
  // Count a run epoch on disk, then send EpochBegun or EpochFailed.
  std::optional<EpochStart> start = {};
  // Reply to the sender of the event.
  absl::Status verdict = {};
};

struct EpochBegun {
  EpochStart start;
  int64_t run_epoch = 0;
  // For a start from a checkpoint: its number of rounds, and the number of
  // rollbacks of the run after divergence.
  int64_t first_round = 0;
  int64_t rollbacks = 0;
};
struct EpochFailed {
  absl::Status why;
};
struct LastGoodMarked {
  absl::StatusOr<int64_t> step;  // NOT_FOUND: no good checkpoint
};

struct ProcessStarted {
  WorkerKey key;
  int64_t pid = 0;
};
// A process registers for its place. If the effects start an epoch, send the
// event again afterwards. Verdicts:
//   UNAVAILABLE          not yet possible; the process tries again
//   FAILED_PRECONDITION  another process has the place, or the run is over
struct WorkerCame {
  RegisterRequest request;
};
struct WorkerAdmitted {
  RegisterRequest request;
  int64_t incarnation = 0;
};
// The worker is ready. The verdict is the result of TakeJoin().
struct WorkerJoined {
  WorkerKey key;
  JoinRequest request;
};
struct WorkerProgressed {
  WorkerKey key;
  HeartbeatRequest request;
};
struct WorkerDied {
  WorkerKey key;
  std::string why;  // "was killed by signal 9"
  int exit_code = kExitInternal;
  bool process_is_gone = false;
  bool was_reaped = false;  // the launcher collected the exit code
  // Time for the process to exit before it is killed.
  absl::Duration kill_after = absl::ZeroDuration();
  // The states of its role's workers differ, so memory is unusable.
  bool states_differ = false;
};
struct WorkerLeaves {  // The worker knows that the run is over.
  WorkerKey key;
};

// The verdict is the result of CheckpointCommits::Add().
struct ShardReported {
  WorkerKey key;
  ShardReport report;
};
// A commit has ended. After verdict UNAVAILABLE the commit is tried again
// later, otherwise CheckpointSettled follows.
struct CheckpointWritten {
  CheckpointCommits::Job job;
  absl::Status done;
};
struct CheckpointSettled {
  CheckpointCommits::Job job;
  absl::Status done;
};

struct StopWanted {
  std::string reason;
};
struct TimePassed {};  // sent several times a second

using EpochEvent =
    std::variant<EpochBegun, EpochFailed, LastGoodMarked, ProcessStarted,
                 WorkerCame, WorkerAdmitted, WorkerJoined, WorkerProgressed,
                 WorkerDied, WorkerLeaves, ShardReported, CheckpointWritten,
                 CheckpointSettled, StopWanted, TimePassed>;

}  // namespace gandem
