// SPDX-License-Identifier: Apache-2.0
//
// Exit codes of all binaries (design.md section 8). 128 + n is a signal's.
//
// Thread safety: pure functions.
#pragma once

#include "absl/status/status.h"

namespace gandem {

enum ExitCode {
  kExitOk = 0,
  // Usage, config or input: the same start fails again, so nobody restarts it.
  kExitUsage = 2,
  // The numbers of the run are not finite any more; its checkpoints are.
  kExitDiverged = 3,
  kExitInternal = 70,
  // A worker in mid-run: data was damaged on its way or cannot be read any
  // more; a new start may find it whole.
  kExitDamaged = 74,
  // Stopped, and a new start goes on: preempted, superseded, peer lost.
  kExitResumable = 75,
};

// 75  ABORTED (superseded), CANCELLED (asked to stop), UNAVAILABLE and
//     DEADLINE_EXCEEDED (a peer is gone)
// 3   OUT_OF_RANGE: a number is not finite
// 2   what only the user can repair: INVALID_ARGUMENT, NOT_FOUND,
//     ALREADY_EXISTS, FAILED_PRECONDITION, PERMISSION_DENIED,
//     UNAUTHENTICATED, UNIMPLEMENTED, DATA_LOSS
// 70  the rest
ExitCode ExitCodeOf(const absl::Status& status);

// The same, of a worker: 74 for DATA_LOSS.
ExitCode WorkerExitCodeOf(const absl::Status& status);

}  // namespace gandem
