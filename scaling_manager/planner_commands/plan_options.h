// SPDX-License-Identifier: Apache-2.0
//
// What `gandem profile`, `gandem plan` and `gandem train --plan AUTO` are told.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gandem {

struct ProfileOptions {
  std::string recipe;
  std::string output = "profile.textproto";
  std::string data;  // of any kind, in place of the recipe's; empty: none
  std::vector<std::string> sets = {};  // "path.to.field=value"
  std::string budget = "5m";
  std::string memory;  // that probes may have; empty: most of what is free
  std::string python;  // for networks in Python; empty: that of $VIRTUAL_ENV
  bool fresh = false;  // measures again what is known
};

// The machines to plan for; all left out: this one.
struct MachineOptions {
  int64_t devices = 0;      // cores, or GPUs; 0: all that there are
  std::string hosts = {};   // a file; empty: like this machine
  std::string memory = {};  // "40GiB": of each host, or of each GPU
  std::string link = {};    // "25Gbit,20ms" between hosts
};

struct PlanOptions {
  std::string recipe = {};
  std::string data = {};  // of any kind, in place of the recipe's; empty: none
  std::vector<std::string> sets = {};  // "path.to.field=value"
  MachineOptions machines = {};
  std::string objective = "time_to_quality";
  std::string profile = {};   // a file; empty: the one that is kept
  std::string noise_of = {};  // a run that measured noise scales; empty: none
  std::string lag = "0..4";
  int64_t max_batch = 0;  // 0: as the objective wants
  bool ignore_machine = false;
  // Predicts the recipe in place of a search; colocated: of it in one process.
  bool as_it_is = false;
  bool colocated = false;
  // Empty: plan.textproto, or with as_it_is no file.
  std::string output = {};
};

// How `gandem train` follows a plan.
struct PlanFlags {
  // A file, or "AUTO": made now, for `machines`. Empty: the recipe as it
  // stands.
  std::string plan = {};
  int candidate = 1;  // of the plan
  MachineOptions machines = {};

  bool is_auto() const { return plan == "AUTO"; }
  bool is_file() const { return !plan.empty() && !is_auto(); }
};

}  // namespace gandem
