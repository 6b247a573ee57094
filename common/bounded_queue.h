// SPDX-License-Identifier: Apache-2.0
//
// First-in first-out queue of limited length between threads.
//
// Owner: outlives all its callers.
// Thread safety: any number of producers and consumers.
// Errors of both waiting calls, which then changed nothing:
//   DEADLINE_EXCEEDED  the deadline passed first. A deadline in the past makes
//                      the call a try.
//   Close()'s reason   the queue is closed; only the first reason is kept.
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

  // Waits for room. The item is lost when the call fails.
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

  // Never waits; false when the queue is full or closed.
  bool TryPush(T item) {
    return Push(std::move(item), absl::InfinitePast()).ok();
  }

  // Waits for an item. A closed queue still hands out what it holds.
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

  // Fails all pushes, and all pops once the queue is empty, with `reason`,
  // which must not be OK.
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
  absl::Status closed_ ABSL_GUARDED_BY(mu_);  // sticky
};

}  // namespace gandem
