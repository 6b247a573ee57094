// SPDX-License-Identifier: Apache-2.0
//
// MonotonicNow(), replaceable in tests (tests/testing/fake_clock.h). Used only
// for decisions about time; a wait takes a deadline.
//
// Owner: Real() lives forever. Thread safety: any thread.
#pragma once

#include "absl/time/time.h"
#include "common/monotonic_time.h"

namespace gandem {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() { return MonotonicNow(); }

  static Clock* Real() {
    static Clock* const clock = new Clock;
    return clock;
  }
};

}  // namespace gandem
