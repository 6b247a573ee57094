// SPDX-License-Identifier: Apache-2.0
//
// Command of a run's worker: the binary of its role, or `python -m
// gandem.worker` if a network of the run is the user's own. In the latter case
// all workers run in Python, because a generator runs the discriminator as its
// critic, and so does evaluation_job, which generates a run's images.
//
// Owner: values. Thread safety: any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

struct WorkerProgram {
  std::string binary_folder = {};
  std::string python = {};  // the interpreter; empty: built-in networks only
};

// Returns the first field of `config` with a user's own network, or "".
std::string OwnNetworkOf(const RunConfig& config);

// Finds and starts the interpreter, only if `config` has a user's own network.
// `python` is --python; empty: that of $VIRTUAL_ENV.
//   INVALID_ARGUMENT     no interpreter is named
//   FAILED_PRECONDITION  gandem was built without gandem.worker, or the
//                        interpreter does not start it; the message has its
//                        output and suspicious environment variables
absl::StatusOr<WorkerProgram> FindWorkerProgram(const RunConfig& config,
                                                std::string binary_folder,
                                                const std::string& python);

// Returns the worker's command without flags. Errors: ProgramCommand's.
absl::StatusOr<std::vector<std::string>> WorkerCommand(
    const WorkerProgram& program, Role role);

// Returns the command of evaluation_job, without `arguments`: those of `gandem
// sample`, `gandem evaluate` and similar commands, starting with the command,
// and --python. Uses Python if an argument names a run, a checkpoint or, for
// `gandem models`, a recipe with a user's own network. Errors: those of
// FindWorkerProgram and ProgramCommand.
absl::StatusOr<std::vector<std::string>> EvaluationCommand(
    std::string binary_folder, const std::vector<std::string>& arguments);

// Returns the binary of a role, for example "generator_worker".
std::string WorkerBinary(Role role);

}  // namespace gandem
