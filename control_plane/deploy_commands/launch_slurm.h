// SPDX-License-Identifier: Apache-2.0
//
// `gandem launch slurm` writes a job script for a run and submits it, unless
// Slurm already has a job with the run's comment.
//
// Owner: main(). Thread safety: the main thread.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control_plane/deploy_commands/launched_recipe.h"
#include "deploy/slurm/slurm_job.h"
#include "proto/config.pb.h"

namespace gandem {

struct LaunchSlurmOptions {
  LaunchFlags flags = {};
  std::string run_dir = {};
  std::string python = {};           // see WorkerProgram
  bool accept_changed_code = false;  // for networks in Python
  SlurmAllocation allocation = {};
};

// Loads a recipe in the same way as `gandem train`.
using RecipeLoader = std::function<absl::StatusOr<RunConfig>(
    const std::string& path, const std::string& data,
    const std::vector<std::string>& sets)>;

// Prints the script, or the number of the job, to `out`. Returns errors of
// FindWorkerProgram and of deploy/slurm/slurm_tools.h, and
//   INVALID_ARGUMENT  the file is neither a recipe nor a plan, or cannot run
//       with these options, or Slurm rejects the job
absl::Status LaunchSlurm(const LaunchSlurmOptions& options,
                         const RecipeLoader& load, std::ostream& out);

}  // namespace gandem
