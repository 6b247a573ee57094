// SPDX-License-Identifier: Apache-2.0
//
// First-in first-out queue of limited length for use between threads.
//
// Owner: outlives all its callers.
// Thread safety: any number of producers and consumers.
// Errors of Push and Pop, which then change nothing:
//   DEADLINE_EXCEEDED  the deadline passed; with a deadline in the past, the
//                      call does not wait
//   reason of Close()  the queue is closed; the first reason is kept
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/monotonic_time.h"

namespace gandem {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t max_items) : max_items_(max_items) {
    GANDEM_CHECK(max_items >= 1);
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Waits for room. Destroys the item on failure.
  absl::Status Push(T item, absl::Time deadline) {
    absl::MutexLock lock(&mu_);
    const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return items_.size() < max_items_ || !closed_.ok();
    };
    if (!AwaitUntil(&mu_, absl::Condition(&ready), deadline)) {
      return absl::DeadlineExceededError("the queue stayed full");
    }
    if (!closed_.ok()) return closed_;
    items_.push_back(std::move(item));
    return absl::OkStatus();
  }

  // Returns false if the queue is full or closed. Never waits.
  bool TryPush(T item) {
    return Push(std::move(item), absl::InfinitePast()).ok();
  }

  // Waits for an item. A closed queue still returns its remaining items.
  absl::StatusOr<T> Pop(absl::Time deadline) {
    absl::MutexLock lock(&mu_);
    const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return !items_.empty() || !closed_.ok();
    };
    if (!AwaitUntil(&mu_, absl::Condition(&ready), deadline)) {
      return absl::DeadlineExceededError("the queue stayed empty");
    }
    if (items_.empty()) return closed_;
    T item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  // Fails all pushes and, on an empty queue, pops. `reason` must not be OK.
  void Close(absl::Status reason) {
    GANDEM_CHECK(!reason.ok());
    absl::MutexLock lock(&mu_);
    if (closed_.ok()) closed_ = std::move(reason);
  }

  size_t size() const {
    absl::MutexLock lock(&mu_);
    return items_.size();
  }

 private:
  const size_t max_items_;
  mutable absl::Mutex mu_;
  std::deque<T> items_ ABSL_GUARDED_BY(mu_);
  absl::Status closed_ ABSL_GUARDED_BY(mu_);  // first reason; OK: open
};

}  // namespace gandem
