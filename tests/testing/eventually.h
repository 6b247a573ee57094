// SPDX-License-Identifier: Apache-2.0
//
// Polling for events of other processes or threads that send no notification.
#pragma once

#include <chrono>

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace gandem::testing {

// Polls until `condition` is true; returns false after a timeout that only a
// broken build reaches.
inline bool Eventually(absl::FunctionRef<bool()> condition) {
  using SteadyClock = std::chrono::steady_clock;
  const SteadyClock::time_point deadline =
      SteadyClock::now() + std::chrono::minutes(2);
  while (!condition()) {
    if (SteadyClock::now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

}  // namespace gandem::testing
