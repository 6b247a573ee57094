// SPDX-License-Identifier: Apache-2.0
//
// How far a run is, asked from its running `gandem train`, or read from its
// files when there is none.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/control.pb.h"

namespace gandem {

// Asks the running `gandem train` until `deadline`, then the files; where there
// is one that does not answer, the state is UNREACHABLE (or FINISHED, by its
// files) and the detail says why.
// `certificates`: see CredentialsOfRun.
//   NOT_FOUND  the folder holds no run.
//   DATA_LOSS  its checkpoints are all damaged.
absl::StatusOr<StatusReply> GetRunStatus(const std::string& run_dir,
                                         const std::string& certificates,
                                         absl::Time deadline);

// For people, several lines.
std::string RunStatusText(const std::string& run_dir,
                          const StatusReply& status);
std::string RunStatusJson(const StatusReply& status);

}  // namespace gandem
