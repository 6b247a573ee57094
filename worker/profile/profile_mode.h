// SPDX-License-Identifier: Apache-2.0
//
// A worker that measures instead of training: it answers proto/measure.proto
// until it is stopped. `gandem profile` starts one for each probe, as a child
// that ends with it.
//
// Thread safety: the compute thread.
// Errors: those of listening; what a probe runs into is its answer.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "proto/metrics.pb.h"
#include "training/roles/role_parts.h"

namespace gandem {

// Serves at `address` until SIGTERM or SIGINT, which main has blocked. The
// process has credentials.
absl::Status RunProfileMode(Role role, const RoleFactories& factories,
                            const std::string& address);

}  // namespace gandem
