// SPDX-License-Identifier: Apache-2.0
//
// Status of a run, from its running `gandem train` or from its files.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/control.pb.h"

namespace gandem {

// Asks the running `gandem train` until `deadline`, then reads the files. If
// `gandem train` does not answer, the state is UNREACHABLE (or FINISHED,
// according to the files) and the detail gives the reason. `certificates`: see
// CredentialsOfRun.
//   NOT_FOUND  the folder holds no run
//   DATA_LOSS  all checkpoints are damaged
absl::StatusOr<StatusReply> GetRunStatus(const std::string& run_dir,
                                         const std::string& certificates,
                                         absl::Time deadline);

std::string RunStatusText(const std::string& run_dir,
                          const StatusReply& status);
std::string RunStatusJson(const StatusReply& status);

}  // namespace gandem
