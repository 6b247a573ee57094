// SPDX-License-Identifier: Apache-2.0
//
// The training loop of all workers. One role waits inside the exchange
// (decoupled); two roles are tried in turn (colocated). Lag 0 is the
// synchronous algorithm in both.
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
  // Longest wait between two calls of `interrupted`.
  absl::Duration poll = absl::Seconds(1);
  // A status other than OK ends the loop, which returns it.
  std::function<absl::Status()> interrupted = {};
};

// Runs until all roles have finished, one fails, or `interrupted` ends the
// loop. Torch exceptions become a Status.
absl::Status RunRoles(std::span<TrainingRole* const> roles,
                      const RunRolesOptions& options);

}  // namespace gandem
