// SPDX-License-Identifier: Apache-2.0
//
// Delivers signals as calls on an ordinary thread, so no handler interrupts
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

// Blocks `signals` in the calling thread and threads that it starts later.
// Blocked signals without a SignalThread are ignored.
void BlockSignals(std::initializer_list<int> signals);

// Returns `signals` without those that the parent process ignores: nohup
// ignores SIGHUP, and a script ignores SIGINT in background jobs.
std::vector<int> SignalsToHear(std::initializer_list<int> signals);

// Unblocks all signals between fork and exec, because children inherit the mask
// even through exec. Safe there: one system call, no memory.
void UnblockAllSignals();

class SignalThread {
 public:
  // Calls `callback(signal)` on its own thread for each arriving signal of
  // `signals`, which must be blocked. Equal signals that arrive close together
  // may be one call. If two threads wait for a signal, one of them gets it.
  SignalThread(std::vector<int> signals,
               absl::AnyInvocable<void(int)> callback);
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;
  // Returns after the last callback.
  ~SignalThread();

 private:
  void Run();

  const int signal_fd_;
  const int stop_fd_;
  absl::AnyInvocable<void(int)> callback_;  // on thread_ only
  Thread thread_;
};

}  // namespace gandem
