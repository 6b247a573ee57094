// SPDX-License-Identifier: Apache-2.0
//
// Who takes part in a run, in run_dir/state/workers.textproto: role, rank, host
// and process of each worker of the newest run epoch.
//
// Owner: `gandem train` writes, `gandem report` reads. Thread safety: one
// thread at a time.
// Errors: those of common/files/file.h; INVALID_ARGUMENT for a file that is no
// such thing.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/control.pb.h"

namespace gandem {

absl::Status WriteRunWorkers(const std::string& run_dir,
                             const StatusReply& status);

// No workers where there is no file.
absl::StatusOr<StatusReply> ReadRunWorkers(const std::string& run_dir);

}  // namespace gandem
