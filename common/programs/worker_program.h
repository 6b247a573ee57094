// SPDX-License-Identifier: Apache-2.0
//
// Command of a run's worker: the binary of its role, or `python -m
// gandem.worker` if a network of the run is the user's own. Then all workers
// run in Python, because a generator runs the discriminator as its critic. The
// same holds for evaluation_job, which generates a run's images.
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

// The first field of `config` that is a network of the user's own; empty: none.
std::string OwnNetworkOf(const RunConfig& config);

// `python` is --python; empty: that of $VIRTUAL_ENV. The interpreter is looked
// up, and started once, only if `config` has a network that needs it.
//   INVALID_ARGUMENT     neither names an interpreter.
//   FAILED_PRECONDITION  this gandem was built without gandem.worker, or the
//                        interpreter does not start it; the message has what
//                        it prints, and variables that may be the reason.
absl::StatusOr<WorkerProgram> FindWorkerProgram(const RunConfig& config,
                                                std::string binary_folder,
                                                const std::string& python);

// The words that start it, without its flags. Errors: those of ProgramCommand.
absl::StatusOr<std::vector<std::string>> WorkerCommand(
    const WorkerProgram& program, Role role);

// The words that start evaluation_job, without `arguments`, which are those of
// `gandem sample`, `gandem evaluate` and the like, the command first. It is
// inside Python if one of them names a run or a checkpoint with such a network,
// or for `gandem models` a recipe; they say --python, too.
// Errors: those of FindWorkerProgram and of ProgramCommand.
absl::StatusOr<std::vector<std::string>> EvaluationCommand(
    std::string binary_folder, const std::vector<std::string>& arguments);

// The binary of a role: "generator_worker" ...
std::string WorkerBinary(Role role);

}  // namespace gandem
