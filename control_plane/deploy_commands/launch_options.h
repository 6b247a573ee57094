// SPDX-License-Identifier: Apache-2.0
//
// What `gandem launch slurm` is told.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gandem {

struct LaunchSlurmOptions {
  std::string recipe = {};  // or a plan: a file of either kind
  std::string run_dir = {};
  std::string data = {};               // in place of the recipe's; empty: none
  std::vector<std::string> sets = {};  // "path.to.field=value"
  int64_t candidate = 1;               // of a plan
  std::string python = {};             // see WorkerProgram
  bool accept_changed_code = false;    // of networks in Python
  std::string layout = "one";          // or "het"
  int64_t nodes = 0;                   // 0: as Slurm places the workers
  std::string partition = {};          // empty: the cluster's own
  std::string time = {};               // as Slurm writes it; empty: the limit
  std::string account = {};            // empty: the user's own
  int64_t gpus_per_worker = 0;
  std::string signal = "USR2";   // before the time limit
  int64_t signal_seconds = 120;  // so long before it
  bool insecure_network = false;
  std::optional<int> metrics_port = {};  // for Prometheus; 0: any
  std::string log_format = "text";       // or "json"
  bool dry_run = false;                  // print the script, and nothing else
  bool no_follow = false;                // submit, and leave
};

}  // namespace gandem
