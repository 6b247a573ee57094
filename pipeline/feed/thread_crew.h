// SPDX-License-Identifier: Apache-2.0
//
// Threads that all do the same, whose number changes while they do it. They
// leave by themselves where their function finds that they are too many.
//
// Owner: the object whose work they do; as its last member.
// Thread safety: Want and Leaves under the owner's lock, which those who wait
// for Leaves hold, too; StartMissing without it. Join: once nobody waits any
// more.
// Errors: where the system has no more threads, it stays at those that are
// there; the first one throws.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/process/thread.h"

namespace gandem {

class ThreadCrew {
 public:
  // `run` returns when Leaves() was true, or when all is over.
  ThreadCrew(std::string name, std::function<void()> run)
      : name_(std::move(name)), run_(std::move(run)) {}
  ThreadCrew(const ThreadCrew&) = delete;
  ThreadCrew& operator=(const ThreadCrew&) = delete;
  ~ThreadCrew() { Join(); }

  void Want(int threads) { wanted_ = threads; }
  bool HasSurplus() const { return running_ > wanted_; }
  // True: the calling thread of the crew must return.
  bool Leaves() {
    if (!HasSurplus()) return false;
    --running_;
    return true;
  }
  int running() const { return running_; }

  void StartMissing();
  // All must have been told to return. None is started after it.
  void Join();

 private:
  void Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string name_;
  const std::function<void()> run_;
  std::atomic<int> wanted_ = 0;
  std::atomic<int> running_ = 0;
  absl::Mutex mu_;
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Thread> threads_ ABSL_GUARDED_BY(mu_);
  std::vector<size_t> free_ ABSL_GUARDED_BY(mu_);  // whose threads have left
};

}  // namespace gandem
