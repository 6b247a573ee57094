// SPDX-License-Identifier: Apache-2.0
#include "common/clock.h"

#include "absl/time/clock.h"

namespace gandem {
namespace {

class RealClock : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
};

}  // namespace

Clock* Clock::Real() {
  static RealClock* const clock = new RealClock;
  return clock;
}

}  // namespace gandem
