// SPDX-License-Identifier: Apache-2.0
//
// What has to hold before a run folder may be trained in: it is writable,
// nobody else uses it, and its checkpoints belong to the same config.
//
// Owner: `gandem train`. Thread safety: one thread.
// Errors: each says what the user can do.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "scaling_manager/commands/command_line.h"
#include "scaling_manager/commands/run_lock.h"
#include "scaling_manager/coordinator/coordinator.h"

namespace gandem {

struct RunSetup {
  RunLock lock;
  std::string run_dir;              // absolute
  RunConfig config;                 // effective
  std::string config_text;          // of it, also in run_dir/config.textproto
  std::vector<int> evaluate_cores;  // empty: evaluations have none of their own
  std::string notice;  // on how the run resumes, for the user; may be empty
};

//   INVALID_ARGUMENT     the recipe, or flags that do not fit each other.
//   ALREADY_EXISTS       another `gandem train` uses the folder.
//   FAILED_PRECONDITION  its checkpoints are of another config; lists the
//                        fields that differ.
//   DATA_LOSS            all its checkpoints are damaged.
//   the file's error     the folder cannot be written.
absl::StatusOr<RunSetup> PrepareRun(const TrainOptions& options);

// The coordinator that this run needs.
Coordinator::Options CoordinatorOptions(const RunSetup& setup,
                                        const TrainOptions& options);

}  // namespace gandem
