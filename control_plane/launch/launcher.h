// SPDX-License-Identifier: Apache-2.0
//
// Starts the worker processes of this host, reports their exits to the
// coordinator, and leaves none running. A program may start them on other hosts
// instead: `start_by ROLE RANK START COMMAND...` runs the command there, lives
// as long as the command and ends with its exit code. START counts the starts
// of this worker from 0. SIGTERM asks the program to end the worker. If the
// program does not exit within kEndElsewhereTime, the launcher abandons the
// worker, and the coordinator refuses it from then on.
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
    // Compute threads of this host's workers per core. Above 1, waiting threads
    // block instead of spinning, unless the environment sets OMP_WAIT_POLICY,
    // and workers get a niceness: the workers of a core together weigh as much
    // as one process, so that `gandem train` and its heartbeats come first.
    double threads_per_core = 0;
    std::string start_by = {};  // empty: workers are children, on this host
  };
  // End of a worker that was not asked to leave, or that failed.
  struct Failure {
    WorkerKey key;
    ProcessEnd end;
    std::string log_path;
    std::string log_tail;  // without the frames of C++ exceptions
    std::string advice;    // what the user can do; may be empty
  };

  // `coordinator` must outlive the launcher.
  Launcher(Options options, Coordinator* coordinator)
      : options_(std::move(options)), coordinator_(coordinator) {}
  // Kills the children that still run.
  ~Launcher() = default;

  // Reaps children, reports exits and follows the coordinator. Never waits.
  std::vector<Failure> Poll();

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
  // Number of starts by start_by, for each worker.
  std::map<WorkerKey, int> starts_;
  // Time to kill a start_by process that ignores SIGTERM.
  std::map<WorkerKey, absl::Time> kill_at_;
  bool signalled_ = false;  // by SignalAll()
  absl::Time next_trim_ = absl::InfinitePast();
};

// Returns the lines about a failure for the user.
std::vector<std::string> ToLines(const Launcher::Failure& failure);

}  // namespace gandem
