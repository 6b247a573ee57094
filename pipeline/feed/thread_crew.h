// SPDX-License-Identifier: Apache-2.0
//
// A growing set of threads that run one function. None exits before the end:
// surplus threads wait for work.
//
// Owner: the object whose work the threads do, as its last member.
// Thread safety: any thread.
// Errors: if the system has no more threads, keeps the existing ones; failing
// to start the first one throws.
#pragma once

#include <atomic>
#include <functional>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/process/thread.h"

namespace gandem {

class ThreadCrew {
 public:
  // `run` returns at the end of the owner's work.
  ThreadCrew(std::string name, std::function<void()> run)
      : name_(std::move(name)), run_(std::move(run)) {}
  ThreadCrew(const ThreadCrew&) = delete;
  ThreadCrew& operator=(const ThreadCrew&) = delete;
  ~ThreadCrew() { Join(); }

  // Requests at least `threads` threads; StartMissing starts them.
  void Want(int threads) { wanted_ = threads; }

  // Must be called without the owner's lock, which a new thread acquires.
  void StartMissing() {
    if (running_ >= wanted_) return;
    absl::MutexLock lock(&mu_);
    while (!is_over_ && running_ < wanted_) {
      try {
        threads_.emplace_back(name_, run_);
      } catch (const std::system_error&) {
        if (threads_.empty()) throw;
        return;
      }
      ++running_;
    }
  }

  // Joins all threads, which must be returning. No others start later.
  void Join() {
    std::vector<Thread> threads;
    {
      absl::MutexLock lock(&mu_);
      is_over_ = true;
      threads.swap(threads_);
    }
    for (Thread& thread : threads) thread.Join();
  }

 private:
  const std::string name_;
  const std::function<void()> run_;
  std::atomic<int> wanted_ = 0;
  std::atomic<int> running_ = 0;
  absl::Mutex mu_;
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Thread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
