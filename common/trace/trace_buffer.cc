// SPDX-License-Identifier: Apache-2.0
#include "common/trace/trace_buffer.h"

#include <utility>

namespace gandem {

void TraceBuffer::Open(size_t max_events) {
  absl::MutexLock lock(&mu_);
  is_open_ = true;
  max_events_ = max_events;
  events_.clear();
  dropped_ = 0;
}

void TraceBuffer::Add(const TraceEvent& event) {
  absl::MutexLock lock(&mu_);
  if (!is_open_) return;
  if (events_.size() >= max_events_) {
    ++dropped_;
    return;
  }
  events_.push_back(event);
}

// Exchanges the lists, so that nobody copies events under the lock; the memory
// goes to and fro.
TraceBuffer::Batch TraceBuffer::Take(std::vector<TraceEvent> space,
                                     absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithDeadline(absl::Condition(this, &TraceBuffer::IsUrgent),
                        deadline);
  return {.events = std::exchange(events_, std::move(space)),
          .dropped = std::exchange(dropped_, 0),
          .is_last = !is_open_};
}

void TraceBuffer::Close() {
  absl::MutexLock lock(&mu_);
  is_open_ = false;
}

}  // namespace gandem
