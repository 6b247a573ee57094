// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/thread_crew.h"

#include <system_error>

namespace gandem {

void ThreadCrew::StartMissing() {
  if (running_ >= wanted_) return;
  absl::MutexLock lock(&mu_);
  while (!is_over_ && running_ < wanted_) {
    ++running_;  // before it looks whether it is one too many
    try {
      Start();
    } catch (const std::system_error&) {
      if (--running_ == 0) throw;
      return;
    }
  }
}

void ThreadCrew::Start() {
  const bool reuses = !free_.empty();
  const size_t place = reuses ? free_.back() : threads_.size();
  Thread thread(name_, [this, place] {
    run_();
    absl::MutexLock lock(&mu_);
    free_.push_back(place);
  });
  if (reuses) {
    free_.pop_back();
    threads_[place] = std::move(thread);  // joins one that has just left
  } else {
    threads_.push_back(std::move(thread));
  }
}

void ThreadCrew::Join() {
  std::vector<Thread> threads;
  {
    absl::MutexLock lock(&mu_);
    is_over_ = true;
    threads.swap(threads_);
  }
  for (Thread& thread : threads) thread.Join();
}

}  // namespace gandem
