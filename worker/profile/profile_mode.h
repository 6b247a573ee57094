// SPDX-License-Identifier: Apache-2.0
//
// Worker that measures instead of training: answers proto/measure.proto until
// stopped. `gandem profile` starts one child process per probe.
//
// Thread safety: the compute thread.
// Errors: those of listening; errors of a probe are sent as its answer.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "proto/metrics.pb.h"
#include "training/roles/role_parts.h"

namespace gandem {

// Serves at `address` until SIGTERM or SIGINT, which main must have blocked.
// The process must have credentials.
absl::Status RunProfileMode(Role role, const RoleFactories& factories,
                            const std::string& address);

}  // namespace gandem
