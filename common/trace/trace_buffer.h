// SPDX-License-Identifier: Apache-2.0
//
// Queue of timeline events from the recording threads to the writing one
// (trace_writer.h). A full buffer drops and counts events instead of waiting.
//
// Owner: outlives all its callers.
// Thread safety: Add from any thread, all others from one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/monotonic_time.h"

namespace gandem {

struct TraceEvent {
  enum class Kind { kSpan, kInstant, kCounter };

  Kind kind = Kind::kSpan;
  // A literal that needs no escaping in JSON, like `argument`.
  const char* name = "";
  // Nanoseconds since the Unix epoch.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // spans
  int64_t thread = 0;  // the system's number, or a track of trace.h
  // Copied because the thread may have ended when the event is written.
  std::array<char, 16> thread_name = {};
  const char* argument = nullptr;
  int64_t value = 0;  // of the argument, or of the counter
};

class TraceBuffer {
 public:
  struct Batch {
    std::vector<TraceEvent> events = {};  // in the order of Add
    int64_t dropped = 0;                  // since the previous batch
    bool is_last = false;
  };

  // Empties the buffer and starts accepting up to `max_events`.
  void Open(size_t max_events) {
    absl::MutexLock lock(&mu_);
    is_open_ = true;
    max_events_ = max_events;
    events_.clear();
    dropped_ = 0;
  }

  // Does nothing while the buffer is closed.
  void Add(const TraceEvent& event) {
    absl::MutexLock lock(&mu_);
    if (!is_open_) return;
    if (events_.size() < max_events_) {
      events_.push_back(event);
    } else {
      ++dropped_;
    }
  }

  // Waits until the buffer is half full or closed, or for the deadline. Reuses
  // the memory of `space` (empty) to avoid copies under the lock.
  Batch Take(std::vector<TraceEvent> space, absl::Time deadline) {
    absl::MutexLock lock(&mu_);
    AwaitUntil(&mu_, absl::Condition(this, &TraceBuffer::IsUrgent), deadline);
    return {.events = std::exchange(events_, std::move(space)),
            .dropped = std::exchange(dropped_, 0),
            .is_last = !is_open_};
  }

  // Stops accepting events. Take returns the rest.
  void Close() {
    absl::MutexLock lock(&mu_);
    is_open_ = false;
  }

 private:
  bool IsUrgent() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !is_open_ || 2 * events_.size() >= max_events_;
  }

  absl::Mutex mu_;
  bool is_open_ ABSL_GUARDED_BY(mu_) = false;
  size_t max_events_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<TraceEvent> events_ ABSL_GUARDED_BY(mu_);
  int64_t dropped_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace gandem
