// SPDX-License-Identifier: Apache-2.0
//
// Meaning of a failure of a run epoch: its possible cause, and whether the next
// attempt may succeed.
//
// Thread safety: any thread.
#pragma once

#include "absl/status/status.h"

namespace gandem {

// Tells whether another worker may have caused the failure: waits for other
// workers fail with these codes.
inline bool MayBeTheirs(const absl::Status& failure) {
  return absl::IsUnavailable(failure) || absl::IsCancelled(failure) ||
         absl::IsAborted(failure);
}

struct EpochPast {
  // A round of it was, or the fleet hands its state over.
  bool has_begun = false;
  // False: workers may have read their files before.
  bool is_first = true;
};

// Converts the failure of the round loop for the report: it tells what may be
// different at the next attempt, and what the user must repair.
inline absl::Status JudgeFailure(absl::Status failure, EpochPast past) {
  const bool is_missing =
      absl::IsNotFound(failure) || absl::IsPermissionDenied(failure);
  // A file that could be read before: its mount may come back.
  if ((past.has_begun || !past.is_first) && is_missing) {
    return absl::DataLossError(failure.message());
  }
  // A retry would find the same damage. A file that was readable before may
  // become whole again, because storage fails in this way, too.
  if (!past.has_begun && past.is_first && absl::IsDataLoss(failure)) {
    return absl::FailedPreconditionError(failure.message());
  }
  return failure;
}

}  // namespace gandem
