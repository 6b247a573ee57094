// SPDX-License-Identifier: Apache-2.0
//
// A run as a job of Slurm. Its batch script coordinates on the job's first
// node, lets srun start each worker as a step of its own, and resumes what is
// there. What it relies on of Slurm (version 22.05) was measured:
// docs/how_to/several_hosts.md.
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
  int64_t nodes = 0;           // 0: as Slurm places the workers
  std::string partition = {};  // empty: the cluster's default
  std::string account = {};    // empty: the user's default
  std::string time = {};  // as sbatch takes it; empty: the partition's limit
  int64_t gpus_per_worker = 0;
  int64_t signal_seconds = 120;  // before the limit, for a checkpoint
  bool insecure_network = false;
  // Port of the first node at which Prometheus reads the run's metrics. 0: any
  // free port.
  std::optional<int> metrics_port = {};
  std::string log_format = "text";  // or "json"
};

struct SlurmJob {
  std::string name = {};           // required
  std::string run_dir = {};        // required: absolute, and seen by all nodes
  std::string binary_folder = {};  // required: on all nodes
  // The folder that relative file names start from, on all nodes. Empty: the
  // folder in which sbatch is called.
  std::string work_dir = {};
  // Arguments of `gandem coordinate` that describe what to train.
  std::vector<std::string> what = {};
  int64_t workers = 0;  // required: of both roles
  // Compute threads of a worker.
  int64_t generator_cpus = 1;
  int64_t discriminator_cpus = 1;
  SlurmAllocation allocation = {};
};

// Path of the script: RUN_DIR/slurm/job.sbatch.
std::string SlurmScriptPath(absl::string_view run_dir);

// `text` as one word of a shell.
std::string ShellQuoted(absl::string_view text);

// The Slurm comment of the run's jobs, by which a live job is found.
std::string SlurmComment(absl::string_view run_dir);

// Checks for mistakes that sbatch does not report or misreads.
//   INVALID_ARGUMENT  names the flags of `gandem launch slurm`.
absl::Status CheckSlurmJob(const SlurmJob& job);

// The script is readable and passes shellcheck. `job` must have passed
// CheckSlurmJob.
std::string BatchScript(const SlurmJob& job);

}  // namespace gandem
