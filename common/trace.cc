// SPDX-License-Identifier: Apache-2.0
#include "common/trace.h"

#include <unistd.h>

namespace gandem {
namespace {

int64_t ThisThread() {
  thread_local const int64_t thread = gettid();
  return thread;
}

}  // namespace

namespace internal {

constinit std::atomic<bool> is_tracing{false};

TraceBuffer& TheTraceBuffer() {
  static TraceBuffer* const buffer = new TraceBuffer;
  return *buffer;
}

}  // namespace internal

void RecordSpan(const char* name, absl::Time begin, absl::Time end,
                TraceArgument argument, TraceTrack track) {
  if (!IsTracing()) return;
  internal::TheTraceBuffer().Add({.kind = TraceEvent::Kind::kSpan,
                                  .name = name,
                                  .begin_ns = absl::ToUnixNanos(begin),
                                  .end_ns = absl::ToUnixNanos(end),
                                  .thread = track == TraceTrack::kThisThread
                                                ? ThisThread()
                                                : static_cast<int64_t>(track),
                                  .argument = argument.name,
                                  .value = argument.value});
}

void RecordInstant(const char* name, TraceArgument argument) {
  if (!IsTracing()) return;
  internal::TheTraceBuffer().Add({.kind = TraceEvent::Kind::kInstant,
                                  .name = name,
                                  .begin_ns = absl::GetCurrentTimeNanos(),
                                  .thread = ThisThread(),
                                  .argument = argument.name,
                                  .value = argument.value});
}

void RecordCounter(const char* name, int64_t value) {
  if (!IsTracing()) return;
  internal::TheTraceBuffer().Add({.kind = TraceEvent::Kind::kCounter,
                                  .name = name,
                                  .begin_ns = absl::GetCurrentTimeNanos(),
                                  .thread = ThisThread(),
                                  .value = value});
}

}  // namespace gandem
