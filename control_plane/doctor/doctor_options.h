// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `gandem doctor`.
//
// Thread safety: values.
#pragma once

#include <string>
#include <vector>

namespace gandem {

struct DoctorOptions {
  std::string recipe = {};   // or a plan: a file of either kind; empty: none
  std::string run_dir = {};  // required
  // HOST:PORT of each `gandem doctor --listen` of another host.
  std::vector<std::string> hosts = {};
  // HOST:PORT; without a recipe and hosts this process only answers others.
  std::string listen = {};
  std::string token_file = {};    // empty: the run folder's
  std::string certificates = {};  // empty: the run's
  bool insecure_network = false;
};

}  // namespace gandem
