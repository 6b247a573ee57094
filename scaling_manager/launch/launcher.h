// SPDX-License-Identifier: Apache-2.0
//
// Starts the worker processes of this host, tells the coordinator of their
// ends, and makes sure that none is left.
//
// Owner: `gandem train`. Thread safety: one thread, which must live as long as
// the workers may (see child_process.h).
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/process/child_process.h"
#include "scaling_manager/coordinator/coordinator.h"
#include "scaling_manager/launch/core_plan.h"

namespace gandem {

class Launcher {
 public:
  struct Options {
    std::string binary_folder;    // required: where the workers' binaries are
    std::string run_dir;          // required
    std::string control_address;  // required: of the Control service
    std::vector<std::string> credential_flags = {};  // see CredentialFlags
    std::string trace_folder = {};                   // empty: no timelines
    WorkerCores cores = {};  // workers that are not in it run anywhere
  };
  // The end of a worker that was not asked to leave, or that failed.
  struct Failure {
    WorkerKey key;
    ProcessEnd end;
    std::string log_path;
    std::string log_tail;  // without the frames of C++ exceptions
    std::string advice;    // what to do about it; mostly empty
  };

  // `coordinator` outlives this.
  Launcher(Options options, Coordinator* coordinator)
      : options_(std::move(options)), coordinator_(coordinator) {}
  // Kills what still runs.
  ~Launcher() = default;

  // Reaps, reports to the coordinator and does what it wishes. Never waits.
  std::vector<Failure> Poll();

  // No process is left.
  bool empty() const { return children_.empty(); }
  void SignalAll(int signal);

 private:
  absl::Status Start(WorkerKey key);
  void TrimLogs();

  const Options options_;
  Coordinator* const coordinator_;
  std::map<WorkerKey, ChildProcess> children_;
  std::set<WorkerKey> killed_;  // by us
  bool signalled_ = false;      // by SignalAll()
  absl::Time next_trim_ = absl::InfinitePast();
};

// The binary of a role: "generator_worker" ...
std::string WorkerBinary(Role role);

}  // namespace gandem
