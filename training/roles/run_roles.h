// SPDX-License-Identifier: Apache-2.0
//
// The one training loop. With one role it waits inside the exchange
// (decoupled); with both it tries each in turn (colocated). Lag 0 is the
// synchronous algorithm in either.
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
  // How long one wait lasts before `interrupted` is asked again.
  absl::Duration poll = absl::Seconds(1);
  // Not OK: the loop ends with that status.
  std::function<absl::Status()> interrupted = {};
};

// Until all roles have finished, one fails, or the loop is interrupted. Torch
// exceptions become a Status.
absl::Status RunRoles(std::span<TrainingRole* const> roles,
                      const RunRolesOptions& options);

}  // namespace gandem
