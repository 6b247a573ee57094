// SPDX-License-Identifier: Apache-2.0
#include "common/trace/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <set>
#include <string>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"

namespace gandem {
namespace {

// Queried once per thread, because the system call costs more than an event.
struct ThreadIdentity {
  int64_t number = gettid();
  std::array<char, 16> name = {};

  ThreadIdentity() {
    (void)pthread_getname_np(pthread_self(), name.data(), name.size());
  }
};

void Record(TraceEvent event) {
  if (event.thread == 0) {
    thread_local const ThreadIdentity self;
    event.thread = self.number;
    event.thread_name = self.name;
  }
  internal::TheTraceBuffer().Add(event);
}

}  // namespace

namespace internal {

constinit std::atomic<bool> is_tracing{false};

TraceBuffer& TheTraceBuffer() {
  static TraceBuffer* const buffer = new TraceBuffer;
  return *buffer;
}

}  // namespace internal

const char* TraceName(absl::string_view text) {
  constexpr size_t kMaxNames = 4096;
  static absl::Mutex mu(absl::kConstInit);
  static std::set<std::string>* const names = new std::set<std::string>;
  std::string name;
  for (const char c : text) {
    if (absl::ascii_isprint(c) && c != '"' && c != '\\') name.push_back(c);
  }
  absl::MutexLock lock(&mu);
  // Pointers to the nodes of a set stay valid.
  const auto found = names->find(name);
  if (found != names->end()) return found->c_str();
  if (names->size() >= kMaxNames) return "other";
  return names->insert(std::move(name)).first->c_str();
}

void RecordSpan(const char* name, absl::Time begin, absl::Time end,
                TraceArgument argument, TraceTrack track) {
  if (!IsTracing()) return;
  Record({.kind = TraceEvent::Kind::kSpan,
          .name = name,
          .begin_ns = absl::ToUnixNanos(begin),
          .end_ns = absl::ToUnixNanos(end),
          .thread = static_cast<int64_t>(track),
          .argument = argument.name,
          .value = argument.value});
}

void RecordInstant(const char* name, TraceArgument argument) {
  if (!IsTracing()) return;
  Record({.kind = TraceEvent::Kind::kInstant,
          .name = name,
          .begin_ns = absl::GetCurrentTimeNanos(),
          .argument = argument.name,
          .value = argument.value});
}

void RecordCounter(const char* name, int64_t value) {
  if (!IsTracing()) return;
  Record({.kind = TraceEvent::Kind::kCounter,
          .name = name,
          .begin_ns = absl::GetCurrentTimeNanos(),
          .value = value});
}

}  // namespace gandem
