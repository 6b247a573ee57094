// SPDX-License-Identifier: Apache-2.0
//
// The input and the output of EpochMachine: what can happen to a run, and what
// is to be done about it. Plain values.
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
  // From what its members hold in memory; otherwise from the newest checkpoint.
  bool from_memory = false;
  bool rolls_back = false;  // The run continues with other noise.
};

// What the owner of the machine does after an event, in this order.
struct EpochEffects {
  std::vector<std::string> news = {};  // for the operator
  // All members have joined: nobody writes checkpoints of an older epoch.
  bool rounds_begin = false;
  // Keep the last good checkpoint; LastGoodMarked is the answer.
  bool mark_last_good = false;
  // Count a run epoch on disk; EpochBegun or EpochFailed is the answer.
  std::optional<EpochStart> start = {};
  // What the sender of the event is told.
  absl::Status verdict = {};
};

struct EpochBegun {
  EpochStart start;
  int64_t run_epoch = 0;
  // Of a start from a checkpoint: the rounds that it has, and how often the run
  // has gone back because it diverged.
  int64_t first_round = 0;
  int64_t rollbacks = 0;
};
struct EpochFailed {
  absl::Status why;
};
struct LastGoodMarked {
  absl::StatusOr<int64_t> step;  // NOT_FOUND: there is no good checkpoint.
};

// The launcher has started a process.
struct ProcessStarted {
  WorkerKey key;
  int64_t pid = 0;
};
// A process asks for its place. If the effects start an epoch, the event is to
// be repeated after that. The verdict is the answer:
//   UNAVAILABLE          not yet; the process asks again.
//   FAILED_PRECONDITION  the place is another process's, or the run is over.
struct WorkerCame {
  RegisterRequest request;
};
struct WorkerAdmitted {
  RegisterRequest request;
  int64_t incarnation = 0;
};
// The worker is ready. The verdict is that of TakeJoin().
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
  bool was_reaped = false;  // by the launcher
  absl::Duration kill_after =
      absl::ZeroDuration();  // unless it is gone by then
  // The states of its fleet differ: what is in memory must not be used.
  bool states_differ = false;
};
struct WorkerLeaves {  // It has been told that the run is over.
  WorkerKey key;
};

// The verdict is that of CheckpointCommits::Add().
struct ShardReported {
  WorkerKey key;
  ShardReport report;
};
// The work on a job has ended. Verdict UNAVAILABLE: it is tried again later;
// otherwise CheckpointSettled follows.
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
struct TimePassed {};  // Happens several times a second.

using EpochEvent =
    std::variant<EpochBegun, EpochFailed, LastGoodMarked, ProcessStarted,
                 WorkerCame, WorkerAdmitted, WorkerJoined, WorkerProgressed,
                 WorkerDied, WorkerLeaves, ShardReported, CheckpointWritten,
                 CheckpointSettled, StopWanted, TimePassed>;

}  // namespace gandem
