// SPDX-License-Identifier: Apache-2.0
//
// `gandem launch slurm`: describes a run to Slurm, submits it and follows it.
// The job works without this process; the same command finds it again by the
// number in RUN_DIR/slurm/job.id, or by the job's comment where a launch died
// before it had written the number.
//
// Owner: main(). Thread safety: the main thread, with the signals of
// kLaunchSignals blocked in all threads.
#pragma once

#include <signal.h>

#include <functional>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control_plane/deploy_commands/launch_options.h"
#include "deploy/slurm/slurm_job.h"
#include "proto/config.pb.h"

namespace gandem {

inline constexpr std::initializer_list<int> kLaunchSignals = {SIGINT, SIGTERM,
                                                              SIGHUP};

// A recipe as training will see it.
using RecipeLoader = std::function<absl::StatusOr<RunConfig>(
    const std::string& path, const std::string& data,
    const std::vector<std::string>& sets)>;

// What Slurm will be asked for. The recipe or plan is taken from RUN_DIR/slurm
// later.
//   INVALID_ARGUMENT  it is neither a recipe nor a plan, or cannot run so.
//   Those of FindWorkerProgram.
absl::StatusOr<SlurmJob> DescribeSlurmJob(const LaunchSlurmOptions& options,
                                          const RecipeLoader& load,
                                          const std::string& binary_folder);

// Returns the exit code: that of the job's `gandem coordinate`; 75 when the job
// ended otherwise, 0 when the user left it running.
absl::StatusOr<int> LaunchSlurm(const LaunchSlurmOptions& options,
                                const RecipeLoader& load, std::ostream& out);

}  // namespace gandem
