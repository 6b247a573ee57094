// SPDX-License-Identifier: Apache-2.0
//
// Signals as calls on an ordinary thread: no handler ever runs in the middle of
// other code. main() blocks the signals before anything starts a thread (gRPC,
// OpenMP), so that all threads inherit the mask.
//
// Owner: main(). Thread safety: main thread.
#pragma once

#include <initializer_list>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "common/process/thread.h"

namespace gandem {

// Blocks `signals` in the calling thread and those it starts later. A blocked
// signal that no SignalThread takes is ignored.
void BlockSignals(std::initializer_list<int> signals);

// Returns `signals` without those that the parent process ignores: nohup
// ignores SIGHUP, and a script ignores SIGINT in background jobs.
std::vector<int> SignalsToHear(std::initializer_list<int> signals);

// Children inherit the mask of their parent, even through exec; call it between
// fork and exec.
// Safe there: one system call, no memory.
void UnblockAllSignals();

class SignalThread {
 public:
  // Calls `callback(signal)` on its own thread for each of `signals` that
  // arrives; they must be blocked. Equal signals that arrive close together may
  // be one call. Of two threads that hear the same signal either gets it.
  SignalThread(std::vector<int> signals,
               absl::AnyInvocable<void(int)> callback);
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;
  // Returns when no callback runs or will run.
  ~SignalThread();

 private:
  void Run();

  const int signal_fd_;
  const int stop_fd_;
  absl::AnyInvocable<void(int)> callback_;  // on thread_ only
  Thread thread_;
};

}  // namespace gandem
