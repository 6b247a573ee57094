// SPDX-License-Identifier: Apache-2.0
//
// What a failure of a run epoch says: whose fault it may be, and whether the
// next try may end in another way.
//
// Thread safety: any thread.
#pragma once

#include "absl/status/status.h"

namespace gandem {

// As what waits for others may fail.
bool MayBeTheirs(const absl::Status& failure);

struct EpochPast {
  // A round of it was, or the fleet hands its state over.
  bool has_begun = false;
  // Else workers may have read their files before.
  bool is_first = true;
};

// How the failure of the round loop is told: what may be different at the next
// try, and what the user must repair.
absl::Status JudgeFailure(absl::Status failure, EpochPast past);

}  // namespace gandem
