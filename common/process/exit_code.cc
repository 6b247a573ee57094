// SPDX-License-Identifier: Apache-2.0
#include "common/process/exit_code.h"

namespace gandem {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnavailable:
      return kExitResumable;
    case absl::StatusCode::kOutOfRange:
      return kExitDiverged;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return kExitUsage;
    default:
      return kExitInternal;
  }
}

ExitCode WorkerExitCodeOf(const absl::Status& status) {
  return absl::IsDataLoss(status) ? kExitDamaged : ExitCodeOf(status);
}

}  // namespace gandem
