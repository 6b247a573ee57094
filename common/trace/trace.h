// SPDX-License-Identifier: Apache-2.0
//
// Records activities of this process for a timeline (docs/fleets.md):
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
// Errors: none; events that do not fit are dropped and counted
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

// Line in which a span is drawn: that of the calling thread, or a separate one,
// because the span overlaps others of the thread.
enum class TraceTrack : int64_t {
  kThisThread = 0,
  // No thread of Linux has such a number.
  kGeneratorRounds = 10'000'001,
  kDiscriminatorRounds = 10'000'002,
};

namespace internal {
extern std::atomic<bool> is_tracing;
// Fence of this thread (SpanFence); null: none.
inline constinit thread_local const std::function<void()>* span_fence = nullptr;
// Lives forever: a thread may still record when the writer goes.
TraceBuffer& TheTraceBuffer();
}  // namespace internal

inline bool IsTracing() {
  return internal::is_tracing.load(std::memory_order_relaxed);
}

// A name for a text that is made at run time; what would need escaping is left
// out. It lives forever, so there are at most 4096: further ones are "other".
const char* TraceName(absl::string_view text);

void RecordSpan(const char* name, absl::Time begin, absl::Time end,
                TraceArgument argument = {},
                TraceTrack track = TraceTrack::kThisThread);
void RecordInstant(const char* name, TraceArgument argument = {});
void RecordCounter(const char* name, int64_t value);

// From its construction to its end.
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

// While it lives, a span of the thread that made it ends when `fence` has
// returned: what a span only starts, as on a GPU, is done by then. `fence` does
// not throw and outlives it; one at a time in a thread.
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
