// SPDX-License-Identifier: Apache-2.0
//
// Receives the spans of trace.h in this process instead of in a file.
//
// Owner: the process; one at a time, and without a TraceWriter. Thread safety:
// one thread; other threads may record meanwhile.
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
  // Starts recording, of at most `max_events` between two calls of Take.
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

  // Returns the events since the last call by their ends. Never waits.
  std::vector<TraceEvent> Take() {
    TraceBuffer::Batch batch =
        internal::TheTraceBuffer().Take({}, absl::InfinitePast());
    dropped_ += batch.dropped;
    return std::move(batch.events);
  }
  int64_t dropped() const { return dropped_; }

 private:
  int64_t dropped_ = 0;
};

}  // namespace gandem
