// SPDX-License-Identifier: Apache-2.0
//
// What `gandem profile` is told.
//
// Owner: values.
#pragma once

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

}  // namespace gandem
