// SPDX-License-Identifier: Apache-2.0
//
// What Slurm is asked for: a run's workers and the allocation that they get.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gandem {

// The workers of a role, all alike.
struct SlurmFleet {
  int64_t workers = 0;     // required
  int64_t cpus = 1;        // of each: its compute threads
  int64_t most_nodes = 0;  // 0: as Slurm places them
};

struct SlurmJob {
  std::string name = {};           // required
  std::string run_dir = {};        // required: absolute, and seen by all nodes
  std::string binary_folder = {};  // required: on all nodes
  // On all nodes: where names of files that are not absolute begin. Empty:
  // where sbatch is called.
  std::string work_dir = {};
  // Arguments of `gandem coordinate` that say what is trained.
  std::vector<std::string> what = {};
  SlurmFleet generators = {};
  SlurmFleet discriminators = {};
  // Each fleet is a component of a heterogeneous job, which is a node at least.
  bool heterogeneous = false;
  std::string partition = {};  // empty: the cluster's default
  std::string account = {};    // empty: the user's default
  std::string time = {};       // empty: the partition's limit
  int64_t gpus_per_worker = 0;
  std::string signal = "USR2";   // before the limit; NCCL takes USR1
  int64_t signal_seconds = 120;  // so long before it
  bool insecure_network = false;
  // Of the first node, where Prometheus reads the run. 0: any.
  std::optional<int> metrics_port = {};
  std::string log_format = "text";  // or "json"
};

// The script's place: RUN_DIR/slurm/job.sbatch.
std::string SlurmScriptPath(absl::string_view run_dir);

// A time limit as sbatch takes it: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S.
//   INVALID_ARGUMENT  it is none.
absl::StatusOr<absl::Duration> ParseSlurmTime(absl::string_view text);

// All that sbatch would not say, or only hours later.
//   INVALID_ARGUMENT  names the flags of `gandem launch slurm`.
absl::Status CheckSlurmJob(const SlurmJob& job);

}  // namespace gandem
