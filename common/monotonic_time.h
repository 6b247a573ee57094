// SPDX-License-Identifier: Apache-2.0
//
// Monotonic time for all deadlines and durations of gandem. The wall clock may
// step by hours (NTP, an operator, a resumed virtual machine), which would fire
// deadlines at once or never; absl::Now() is only for times shown to people.
//
//   const absl::Time deadline = MonotonicNow() + absl::Seconds(10);
//   if (!AwaitUntil(&mu_, absl::Condition(&ready), deadline)) ...
//
// Abseil's own AwaitWithDeadline and AwaitWithTimeout use the wall clock.
// AwaitUntil repeats early waits, and a helper thread ends late ones.
//
// Thread safety: any thread.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace gandem {

// Returns the wall time of the process's first call plus the time since then,
// without times in which the machine was suspended.
absl::Time MonotonicNow();

// Waits, with `mu` released, until `condition` is true or MonotonicNow()
// reaches `deadline`. Returns the condition. If the wall clock steps, the wait
// may end kLongestClockDelay late, never early.
inline constexpr absl::Duration kLongestClockDelay = absl::Seconds(1);
bool AwaitUntil(absl::Mutex* mu, const absl::Condition& condition,
                absl::Time deadline) ABSL_SHARED_LOCKS_REQUIRED(mu);

}  // namespace gandem
