// SPDX-License-Identifier: Apache-2.0
//
// Receives the spans of trace.h in the same process, for a caller that sums
// them up, instead of a TraceWriter's file.
//
// Owner: the process; one at a time, and without a TraceWriter. Thread safety:
// one thread; other threads may record at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/trace/trace.h"
#include "common/trace/trace_buffer.h"

namespace gandem {

class TraceListener {
 public:
  // Recording begins. Of more than `max_events` between two calls of Take the
  // last ones are dropped.
  explicit TraceListener(size_t max_events = size_t{1} << 16) {
    internal::TheTraceBuffer().Open(max_events);
    internal::is_tracing = true;
  }
  TraceListener(const TraceListener&) = delete;
  TraceListener& operator=(const TraceListener&) = delete;
  ~TraceListener() {
    internal::is_tracing = false;
    internal::TheTraceBuffer().Close();
  }

  // Since the last call, in the order in which they ended. Never waits.
  std::vector<TraceEvent> Take() {
    TraceBuffer::Batch batch =
        internal::TheTraceBuffer().Take({}, absl::InfinitePast());
    dropped_ += batch.dropped;
    return std::move(batch.events);
  }
  // Events dropped in all calls so far.
  int64_t dropped() const { return dropped_; }

 private:
  int64_t dropped_ = 0;
};

}  // namespace gandem
