// SPDX-License-Identifier: Apache-2.0
//
// Classifies failures of a run epoch: cause, and value of a retry.
//
// Thread safety: any thread.
#pragma once

#include "absl/status/status.h"

namespace gandem {

// Returns whether the failure is typical of waits for other workers.
inline bool MayBeTheirs(const absl::Status& failure) {
  return absl::IsUnavailable(failure) || absl::IsCancelled(failure) ||
         absl::IsAborted(failure);
}

struct EpochPast {
  // A round has begun, or the fleet is handing its state over.
  bool has_begun = false;
  // False: the workers may have read their files in earlier epochs.
  bool is_first = true;
};

// Converts a failure of the round loop for the report, whose code tells whether
// a retry may help or the user must act.
inline absl::Status JudgeFailure(absl::Status failure, EpochPast past) {
  const bool is_missing =
      absl::IsNotFound(failure) || absl::IsPermissionDenied(failure);
  // The file was readable before, so its mount may return.
  if ((past.has_begun || !past.is_first) && is_missing) {
    return absl::DataLossError(failure.message());
  }
  // Damage found by the first read is permanent. A file that was readable
  // before may recover, because failing storage also reports damage.
  if (!past.has_begun && past.is_first && absl::IsDataLoss(failure)) {
    return absl::FailedPreconditionError(failure.message());
  }
  return failure;
}

}  // namespace gandem
