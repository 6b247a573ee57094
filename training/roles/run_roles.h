// SPDX-License-Identifier: Apache-2.0
//
// Training loop of all workers. A single role waits inside the exchange
// (decoupled); two roles are tried in turn (colocated). Lag 0 is synchronous.
//
// Thread safety: the compute thread, which makes all Torch calls.
#pragma once

#include <functional>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "training/roles/training_role.h"

namespace gandem {

struct RunRolesOptions {
  // Maximum time between two calls of `interrupted`.
  absl::Duration poll = absl::Seconds(1);
  // Ends the loop, which returns its status, by a status other than OK.
  std::function<absl::Status()> interrupted = {};
};

// Runs until all roles have finished, one fails, or `interrupted` ends the
// loop. Converts Torch exceptions to Status.
absl::Status RunRoles(std::span<TrainingRole* const> roles,
                      const RunRolesOptions& options);

}  // namespace gandem
