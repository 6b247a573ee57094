// SPDX-License-Identifier: Apache-2.0
//
// Options of `gandem profile`, `gandem plan` and `gandem train --plan AUTO`.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gandem {

struct ProfileOptions {
  std::string recipe;
  std::string output = "profile.textproto";
  std::string data;  // replaces the recipe's images; empty: the recipe's
  std::vector<std::string> sets = {};  // "path.to.field=value"
  std::string budget = "5m";
  std::string memory;  // limit for the workers; empty: most of the free memory
  std::string python;  // for networks in Python; empty: $VIRTUAL_ENV's
  bool fresh = false;  // measure known settings again, too
};

// Machines to plan for; by default this one.
struct MachineOptions {
  int64_t devices = 0;      // cores, or GPUs; 0: all
  std::string hosts = {};   // a file of hosts; empty: machines like this one
  std::string memory = {};  // "40GiB", per host or per GPU
  std::string link = {};    // "25Gbit,20ms", between hosts
};

struct PlanOptions {
  std::string recipe = {};
  std::string data = {};  // replaces the recipe's images; empty: the recipe's
  std::vector<std::string> sets = {};  // "path.to.field=value"
  MachineOptions machines = {};
  std::string objective = "time_to_quality";
  std::string profile = {};   // a file; empty: the cached profile
  std::string noise_of = {};  // a run with measured noise scales; empty: none
  std::string lag = "0..4";
  int64_t max_batch = 0;  // 0: no limit but the field's
  bool ignore_machine = false;
  // Predicts the recipe instead of searching; `colocated`: in one process.
  bool as_it_is = false;
  bool colocated = false;
  // Empty: plan.textproto, or no file with as_it_is.
  std::string output = {};
};

// Flags of `gandem train` that select a plan.
struct PlanFlags {
  // A file, or "AUTO" to plan now for `machines`. Empty: no plan.
  std::string plan = {};
  int candidate = 1;  // of the plan, from 1
  MachineOptions machines = {};

  bool is_auto() const { return plan == "AUTO"; }
  bool is_file() const { return !plan.empty() && !is_auto(); }
};

}  // namespace gandem
