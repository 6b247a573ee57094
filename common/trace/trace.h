// SPDX-License-Identifier: Apache-2.0
//
// Records spans and counters of this process for a timeline (docs/fleets.md):
//
//   {
//     const TraceSpan span("backward");
//     ...
//   }
//
// Recording needs a TraceWriter; without one a span costs one relaxed load. All
// names are literals that need no escaping in JSON, or come from TraceName.
//
// Owner: the process. Thread safety: any thread.
// Errors: none; events beyond the buffer are dropped and counted
// (trace_buffer.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/trace/trace_buffer.h"

namespace gandem {

struct TraceArgument {
  const char* name = nullptr;  // null: none
  int64_t value = 0;
};

// Timeline row of a span; separate ones for overlapping spans.
enum class TraceTrack : int64_t {
  kThisThread = 0,
  // Above all thread numbers of Linux.
  kGeneratorRounds = 10'000'001,
  kDiscriminatorRounds = 10'000'002,
};

namespace internal {
extern std::atomic<bool> is_tracing;
// Fence of this thread (SpanFence); null: none.
inline constinit thread_local const std::function<void()>* span_fence = nullptr;
// Never destroyed: threads may still record when the writer ends.
TraceBuffer& TheTraceBuffer();
}  // namespace internal

inline bool IsTracing() {
  return internal::is_tracing.load(std::memory_order_relaxed);
}

// Returns a name that lives forever for a text made at run time, without
// characters that need escaping. After 4096 names, returns "other".
const char* TraceName(absl::string_view text);

void RecordSpan(const char* name, absl::Time begin, absl::Time end,
                TraceArgument argument = {},
                TraceTrack track = TraceTrack::kThisThread);
void RecordInstant(const char* name, TraceArgument argument = {});
void RecordCounter(const char* name, int64_t value);

// Records the time between its construction and destruction.
class TraceSpan {
 public:
  explicit TraceSpan(const char* name, TraceArgument argument = {})
      : name_(IsTracing() ? name : nullptr), argument_(argument) {
    if (name_ != nullptr) begin_ = MonotonicNow();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() {
    if (name_ == nullptr) return;
    if (internal::span_fence != nullptr) (*internal::span_fence)();
    RecordSpan(name_, begin_, MonotonicNow(), argument_);
  }

 private:
  const char* const name_;
  const TraceArgument argument_;
  absl::Time begin_ = {};
};

// While it exists, a span of its thread ends only when `fence` has returned, so
// that a span includes work that it starts on a GPU. `fence` must not throw and
// must outlive this object. At most one per thread.
class SpanFence {
 public:
  explicit SpanFence(const std::function<void()>* fence) {
    internal::span_fence = fence;
  }
  SpanFence(const SpanFence&) = delete;
  SpanFence& operator=(const SpanFence&) = delete;
  ~SpanFence() { internal::span_fence = nullptr; }
};

}  // namespace gandem
