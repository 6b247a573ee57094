// SPDX-License-Identifier: Apache-2.0
//
// Makes the Slurm batch script of a run. The script runs the coordinator on the
// job's first node, starts each worker as a step with srun, and resumes an
// existing run. Tested with Slurm 22.05 (docs/how_to/several_hosts.md).
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Settings that a user may choose.
struct SlurmAllocation {
  int64_t nodes = 0;           // 0: Slurm chooses
  std::string partition = {};  // empty: the cluster's default
  std::string account = {};    // empty: the user's default
  std::string time = {};       // as for sbatch; empty: the partition's limit
  int64_t gpus_per_worker = 0;
  int64_t signal_seconds = 120;  // for a checkpoint before the time limit
  bool insecure_network = false;
  // Port of the first node at which Prometheus reads the run's metrics. 0: any
  // free port.
  std::optional<int> metrics_port = {};
  std::string log_format = "text";  // or "json"
};

struct SlurmJob {
  std::string name = {};           // required
  std::string run_dir = {};        // required: absolute, on all nodes
  std::string binary_folder = {};  // required: on all nodes
  // Working directory of the job. Empty: that of sbatch.
  std::string work_dir = {};
  // Arguments of `gandem coordinate` that name the recipe or plan.
  std::vector<std::string> what = {};
  int64_t workers = 0;  // required: number in both roles
  // Compute threads of a worker.
  int64_t generator_cpus = 1;
  int64_t discriminator_cpus = 1;
  SlurmAllocation allocation = {};
};

// Returns the path of the script, RUN_DIR/slurm/job.sbatch.
std::string SlurmScriptPath(absl::string_view run_dir);

// Quotes `text` as one word of a shell.
std::string ShellQuoted(absl::string_view text);

// Returns the Slurm comment that identifies the jobs of a run.
std::string SlurmComment(absl::string_view run_dir);

// Checks for mistakes that sbatch does not report or misreads.
//   INVALID_ARGUMENT  names the flags of `gandem launch slurm`.
absl::Status CheckSlurmJob(const SlurmJob& job);

// Returns the script. `job` must have passed CheckSlurmJob.
std::string BatchScript(const SlurmJob& job);

}  // namespace gandem
