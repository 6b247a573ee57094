// SPDX-License-Identifier: Apache-2.0
//
// Starts the worker processes of this host, reports their ends to the
// coordinator, and leaves none running. Alternatively, a program starts them on
// other hosts: `start_by ROLE RANK START COMMAND...` runs the command there,
// lives as long as the command and ends with its exit code. START counts the
// starts of this worker from 0. SIGTERM asks the program to end the worker. If
// it has not ended the worker after kEndElsewhereTime, the launcher leaves the
// worker behind, and the coordinator refuses it from then on.
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
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/process/child_process.h"
#include "common/programs/core_plan.h"
#include "common/programs/worker_program.h"
#include "control_plane/coordinator/coordinator.h"

namespace gandem {

inline constexpr absl::Duration kEndElsewhereTime = absl::Seconds(1);

class Launcher {
 public:
  struct Options {
    WorkerProgram program;        // required
    std::string run_dir;          // required
    std::string control_address;  // required: of the Control service
    std::vector<std::string> credential_flags = {};  // see CredentialFlags
    std::string trace_folder = {};                   // empty: no timelines
    std::string log_format = "text";                 // see LogOptions
    WorkerCores cores = {};  // a worker without an entry runs on any core
    // Compute threads of this host's workers per core. Above 1, threads that
    // wait for each other block instead of spinning on a core that another
    // worker could use, unless the environment sets OMP_WAIT_POLICY. The
    // workers also get a niceness, so that the workers of a core together weigh
    // as much as one process: `gandem train` and its heartbeats come first.
    double threads_per_core = 0;
    std::string start_by = {};  // empty: workers are children, on this host
  };
  // The end of a worker that was not asked to leave, or that failed.
  struct Failure {
    WorkerKey key;
    ProcessEnd end;
    std::string log_path;
    std::string log_tail;  // without the frames of C++ exceptions
    std::string advice;    // what to do about it; mostly empty
  };

  // `coordinator` must outlive the launcher.
  Launcher(Options options, Coordinator* coordinator)
      : options_(std::move(options)), coordinator_(coordinator) {}
  // Kills the children that still run.
  ~Launcher() = default;

  // Reaps children, reports to the coordinator and carries out its wishes.
  // Never waits.
  std::vector<Failure> Poll();

  // Whether no process is left.
  bool empty() const { return children_.empty(); }
  void SignalAll(int signal);

 private:
  absl::Status Start(WorkerKey key);
  absl::StatusOr<std::vector<std::string>> CommandOf(WorkerKey key);
  std::vector<std::string> Environment() const;
  void End(WorkerKey key, ChildProcess& child);
  void KillLingering();
  void TrimLogs();

  const Options options_;
  Coordinator* const coordinator_;
  std::map<WorkerKey, ChildProcess> children_;
  std::set<WorkerKey> killed_;  // by the launcher
  // Number of times that start_by was run for each worker.
  std::map<WorkerKey, int> starts_;
  // Time at which a start_by that SIGTERM has not ended is killed.
  std::map<WorkerKey, absl::Time> kill_at_;
  bool signalled_ = false;  // by SignalAll()
  absl::Time next_trim_ = absl::InfinitePast();
};

// The lines about a failure that the user sees.
std::vector<std::string> ToLines(const Launcher::Failure& failure);

}  // namespace gandem
