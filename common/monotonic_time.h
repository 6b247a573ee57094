// SPDX-License-Identifier: Apache-2.0
//
// Time that nobody sets. The wall clock may step by hours (NTP, an operator, a
// virtual machine that wakes up); a deadline on it would then fire at once or
// never. All deadlines and durations of gandem are of this clock, and
// absl::Now() is for what people read.
//
//   const absl::Time deadline = MonotonicNow() + absl::Seconds(10);
//   if (!AwaitUntil(&mu_, absl::Condition(&ready), deadline)) ...
//
// Abseil's own AwaitWithDeadline and AwaitWithTimeout let the kernel wait for a
// moment of the wall clock. AwaitUntil looks again when that moment came too
// early, and a thread of its own wakes it when it would come too late.
//
// Thread safety: any thread.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace gandem {

// The time of day when the process first asked, and what has passed since. Time
// for which the machine was suspended does not count.
absl::Time MonotonicNow();

// Waits, with `mu` released, until `condition` is true or `deadline` of
// MonotonicNow() has come; says whether it is true. When the wall clock steps,
// a deadline may be noticed kLongestClockDelay late, and not earlier.
inline constexpr absl::Duration kLongestClockDelay = absl::Seconds(1);
bool AwaitUntil(absl::Mutex* mu, const absl::Condition& condition,
                absl::Time deadline) ABSL_SHARED_LOCKS_REQUIRED(mu);

}  // namespace gandem
