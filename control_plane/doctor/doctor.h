// SPDX-License-Identifier: Apache-2.0
//
// `gandem doctor` checks, before a run is queued, for problems that would end
// it hours later. It prints one line per check, with advice
// (docs/how_to/monitoring.md). It calls the functions of `gandem train` for the
// checks that `gandem train` makes before it starts.
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
  // HOST:PORT of the `gandem doctor --listen` of each other host.
  std::vector<std::string> hosts = {};
  // HOST:PORT. Without a recipe and hosts, this process only answers others.
  std::string listen = {};
  std::string token_file = {};    // empty: the run folder's
  std::string certificates = {};  // empty: the run's
  bool insecure_network = false;
};

// Exit code if a check found a fault. It is EX_CONFIG of sysexits(3), which no
// worker uses, so a batch script can recognize it.
inline constexpr int kExitFaults = 78;

// Runs the checks of `gandem train` and returns the config that it would run,
// with its defaults.
using CheckRunHook = std::function<absl::StatusOr<RunConfig>()>;

// Returns the exit code: 0, or kExitFaults. Prints each line to `out` at once.
//   the system's error  the address of --listen cannot be used.
absl::StatusOr<int> RunDoctor(const DoctorOptions& options,
                              const CheckRunHook& check_run, std::ostream& out);

}  // namespace gandem
