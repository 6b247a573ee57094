// SPDX-License-Identifier: Apache-2.0
//
// The time of day, replaceable in tests (tests/testing/fake_clock.h). Only for
// decisions about time; a wait takes a deadline.
//
// Owner: Real() lives forever. Thread safety: any thread.
#pragma once

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace gandem {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() { return absl::Now(); }

  static Clock* Real() {
    static Clock* const clock = new Clock;
    return clock;
  }
};

}  // namespace gandem
