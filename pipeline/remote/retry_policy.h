// SPDX-License-Identifier: Apache-2.0
//
// Schedules retries: exponential back-off with full jitter (Brooker 2015,
// "Exponential Backoff and Jitter"), not before the server's Retry-After.
//
// Owner: the read that retries. Thread safety: none.
#pragma once

#include <algorithm>
#include <optional>

#include "absl/time/time.h"

namespace gandem {

enum class RetryKind {
  kNever,  // would fail again
  // A server error or malformed answer: at most kMostTries tries.
  kSometimes,
  // The network or an overloaded server: retried until the deadline.
  kUntilDeadline,
};

inline constexpr int kMostTries = 6;
inline constexpr absl::Duration kFirstBackoff = absl::Milliseconds(100);
inline constexpr absl::Duration kLongestBackoff = absl::Seconds(10);

// Returns the wait after try `tries`, from 1: `uniform`, in [0, 1), times
// min(kLongestBackoff, kFirstBackoff * 2^(tries - 1)); at least `retry_after`.
inline absl::Duration Backoff(int tries, double uniform,
                              std::optional<absl::Duration> retry_after) {
  absl::Duration most = kFirstBackoff;
  for (int i = 1; i < tries && most < kLongestBackoff; ++i) most *= 2;
  const absl::Duration jittered = uniform * std::min(most, kLongestBackoff);
  return std::max(jittered, retry_after.value_or(absl::ZeroDuration()));
}

class RetryTimer {
 public:
  explicit RetryTimer(absl::Time deadline) : deadline_(deadline) {}

  // Records a failed try at `now`; returns the time of the next one, if any.
  std::optional<absl::Time> Next(RetryKind kind, absl::Time now, double uniform,
                                 std::optional<absl::Duration> retry_after) {
    ++tries_;
    if (kind == RetryKind::kNever ||
        (kind == RetryKind::kSometimes && tries_ >= kMostTries)) {
      return std::nullopt;
    }
    const absl::Time begin = now + Backoff(tries_, uniform, retry_after);
    return begin < deadline_ ? std::optional(begin) : std::nullopt;
  }

  int tries() const { return tries_; }

 private:
  const absl::Time deadline_;
  int tries_ = 0;
};

}  // namespace gandem
