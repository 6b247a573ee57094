// SPDX-License-Identifier: Apache-2.0
//
// What a request to the coordinator may hold, whoever sent it: bounds of its
// numbers, and of texts that are logged, printed and stored. Bounds that depend
// on who is where are in joining.h and checkpoint_commits.h.
//
// Thread safety: pure functions.
// Errors: INVALID_ARGUMENT lists what is out of bounds.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "common/config/worker_key.h"
#include "proto/control.pb.h"

namespace gandem {

// Bytes of a text that is longer are cut.
inline constexpr size_t kMaxVersion = 64;
inline constexpr size_t kMaxFailure = 4096;

// A host's name is compared later, so it is refused rather than changed.
absl::Status CheckRegistration(const RegisterRequest& request);
absl::Status CheckHeartbeat(const HeartbeatRequest& request, int64_t rounds);
absl::Status CheckMetrics(const HeartbeatRequest& request, WorkerKey worker);
ShardReport WithPrintableError(ShardReport report);

}  // namespace gandem
