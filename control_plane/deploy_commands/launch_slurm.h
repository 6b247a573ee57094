// SPDX-License-Identifier: Apache-2.0
//
// `gandem launch slurm`: describes a run to Slurm and submits it, unless a job
// of the run is at work already, which is known by its comment. The job works
// without this process.
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
  bool accept_changed_code = false;  // of networks in Python
  SlurmAllocation allocation = {};
};

// A recipe as training will see it.
using RecipeLoader = std::function<absl::StatusOr<RunConfig>(
    const std::string& path, const std::string& data,
    const std::vector<std::string>& sets)>;

// The script, or which job is at work, goes to `out`.
//   INVALID_ARGUMENT  it is neither a recipe nor a plan, or cannot run so, or
//                     Slurm refuses the job.
//   Those of FindWorkerProgram and of deploy/slurm/slurm_tools.h.
absl::Status LaunchSlurm(const LaunchSlurmOptions& options,
                         const RecipeLoader& load, std::ostream& out);

}  // namespace gandem
