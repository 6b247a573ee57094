// SPDX-License-Identifier: Apache-2.0
//
// Memory use of a program that measures itself.
//
// Owner: the test. Thread safety: any thread.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/process/thread.h"

namespace gandem::testing {

inline int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Returns the largest growth of the program's memory while `work` runs in
// another thread.
inline int64_t GrowthWhile(absl::FunctionRef<void()> work) {
  const int64_t before = ResidentBytes();
  int64_t most = before;
  absl::Mutex mu;
  bool done = false;
  Thread worker("work", [&] {
    work();
    absl::MutexLock lock(&mu);
    done = true;
  });
  absl::MutexLock lock(&mu);
  while (!mu.AwaitWithTimeout(absl::Condition(&done), absl::Milliseconds(1))) {
    most = std::max(most, ResidentBytes());
  }
  return std::max(most, ResidentBytes()) - before;
}

// Sanitizers keep additional pages.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMeasuresMemory = false;
#elif defined(__has_feature)
inline constexpr bool kMeasuresMemory =
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kMeasuresMemory = true;
#endif

}  // namespace gandem::testing
