// SPDX-License-Identifier: Apache-2.0
//
// Runs one function for events of many threads, never concurrently and never
// under a lock. An event during a run causes another run, so the function may
// start operations whose completion is an event.
//
// Owner: the object that the function works on; callers of Poke() keep it
// alive. Thread safety: any thread.
#pragma once

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace gandem {

class Strand {
 public:
  explicit Strand(std::function<void()> step) : step_(std::move(step)) {}

  // Guarantees that `step` runs at least once after this call began, in this
  // thread or in the thread that is already running it.
  void Poke() {
    {
      absl::MutexLock lock(&mu_);
      poked_ = true;
      if (running_) return;
      running_ = true;
    }
    while (BeginStep()) step_();
  }

 private:
  bool BeginStep() {
    absl::MutexLock lock(&mu_);
    running_ = poked_;
    poked_ = false;
    return running_;
  }

  const std::function<void()> step_;
  absl::Mutex mu_;
  bool running_ ABSL_GUARDED_BY(mu_) = false;
  bool poked_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace gandem
