// SPDX-License-Identifier: Apache-2.0
#include "worker/epoch_failure.h"

namespace gandem {

bool MayBeTheirs(const absl::Status& failure) {
  return absl::IsUnavailable(failure) || absl::IsCancelled(failure) ||
         absl::IsAborted(failure);
}

absl::Status JudgeFailure(absl::Status failure, EpochPast past) {
  const bool is_missing =
      absl::IsNotFound(failure) || absl::IsPermissionDenied(failure);
  // A file that could be read before: its mount may come back.
  if ((past.has_begun || !past.is_first) && is_missing) {
    return absl::DataLossError(failure.message());
  }
  // It would be damaged again. What could be read before may be whole again,
  // too: so storage fails.
  if (!past.has_begun && past.is_first && absl::IsDataLoss(failure)) {
    return absl::FailedPreconditionError(failure.message());
  }
  return failure;
}

}  // namespace gandem
