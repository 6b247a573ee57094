// SPDX-License-Identifier: Apache-2.0
//
// `gandem doctor` finds problems that would end a queued run hours later.
// Prints one line per check, with advice (docs/how_to/monitoring.md). Includes
// the checks with which `gandem train` starts.
//
// Owner: main(). Thread safety: one thread, with SIGINT and SIGTERM blocked in
// all threads.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

struct DoctorOptions {
  std::string recipe = {};   // file of a recipe or of a plan; empty: none
  std::string run_dir = {};  // required
  // HOST:PORT of `gandem doctor --listen` on each other host.
  std::vector<std::string> hosts = {};
  // HOST:PORT. Without recipe and hosts, the process only answers other hosts.
  std::string listen = {};
  std::string token_file = {};    // empty: that in the run folder
  std::string certificates = {};  // empty: those of the run
  bool insecure_network = false;
};

// Exit code if a check found a fault: EX_CONFIG of sysexits(3). No worker uses
// this code, so a batch script can recognize it.
inline constexpr int kExitFaults = 78;

// Runs the checks of `gandem train` and returns the config with its defaults.
using CheckRunHook = std::function<absl::StatusOr<RunConfig>()>;

// Prints one line per check to `out` and returns the exit code, 0 or
// kExitFaults. Errors: the system's error if the address of --listen cannot be
// used.
absl::StatusOr<int> RunDoctor(const DoctorOptions& options,
                              const CheckRunHook& check_run, std::ostream& out);

}  // namespace gandem
