// SPDX-License-Identifier: Apache-2.0
//
// `gandem doctor`: looks for what would end a run hours later, before it
// queues: one line a check, and what to do about it
// (docs/how_to/monitoring.md). What `gandem train` checks before it starts is
// checked by its own functions.
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

// Something has to be mended first. EX_CONFIG of sysexits(3): no worker ends
// with it, so a batch script can tell.
inline constexpr int kExitFaults = 78;

struct DoctorHooks {
  // The checks of `gandem train`; the config that it would run, with its
  // defaults.
  std::function<absl::StatusOr<RunConfig>()> check_run;  // required
  // Bytes that a checkpoint of the run will take.
  std::function<absl::StatusOr<int64_t>(const RunConfig&)>
      predict_checkpoint;  // required
};

// The exit code: 0, or kExitFaults. Lines go to `out` as they are found.
//   the system's error  --listen cannot be listened on.
absl::StatusOr<int> RunDoctor(const DoctorOptions& options,
                              const DoctorHooks& hooks, std::ostream& out);

}  // namespace gandem
