// SPDX-License-Identifier: Apache-2.0
//
// Exit codes of all binaries (design.md section 8); 128 + n for signal n.
//
// Thread safety: pure functions.
#pragma once

#include "absl/status/status.h"

namespace gandem {

enum ExitCode {
  kExitOk = 0,
  // Error in usage, config or input. A restart would fail again.
  kExitUsage = 2,
  // Losses or parameters are not finite. The checkpoints are still valid.
  kExitDiverged = 3,
  kExitInternal = 70,
  // Data of a worker was damaged or became unreadable. A restart may succeed.
  kExitDamaged = 74,
  // Preempted, superseded or lost a peer. A restart resumes the run.
  kExitResumable = 75,
};

// 75  ABORTED (superseded), CANCELLED (asked to stop), UNAVAILABLE and
//     DEADLINE_EXCEEDED (a peer is gone)
// 3   OUT_OF_RANGE: a number is not finite
// 2   errors that the user has to repair: INVALID_ARGUMENT, NOT_FOUND,
//     ALREADY_EXISTS, FAILED_PRECONDITION, PERMISSION_DENIED,
//     UNAUTHENTICATED, UNIMPLEMENTED, DATA_LOSS
// 70  other codes
ExitCode ExitCodeOf(const absl::Status& status);

// Returns the exit code of a worker: 74 for DATA_LOSS, else as ExitCodeOf.
ExitCode WorkerExitCodeOf(const absl::Status& status);

}  // namespace gandem
