// SPDX-License-Identifier: Apache-2.0
//
// When a request is made again: exponential back-off with full jitter (Brooker
// 2015, "Exponential Backoff and Jitter"), no earlier than the server asks for
// (Retry-After). Pure arithmetic.
//
// Owner: the read that tries. Thread safety: none.
#pragma once

#include <algorithm>
#include <optional>

#include "absl/time/time.h"

namespace gandem {

// Whether another request can succeed after a failed one.
enum class RetryKind {
  kNever,  // it would fail in the same way
  // An error of the server, or an answer that makes no sense: may pass, but may
  // also be for good, so that only kMostTries are made.
  kSometimes,
  // The network or a busy server: tried until the deadline.
  kUntilDeadline,
};

inline constexpr int kMostTries = 6;
inline constexpr absl::Duration kFirstBackoff = absl::Milliseconds(100);
inline constexpr absl::Duration kLongestBackoff = absl::Seconds(10);

// The wait after try number `tries`, counted from 1: `uniform`, in [0, 1), of
// min(kLongestBackoff, kFirstBackoff * 2^(tries - 1)), at least `retry_after`.
inline absl::Duration Backoff(int tries, double uniform,
                              std::optional<absl::Duration> retry_after) {
  absl::Duration most = kFirstBackoff;
  for (int i = 1; i < tries && most < kLongestBackoff; ++i) most *= 2;
  const absl::Duration jittered = uniform * std::min(most, kLongestBackoff);
  return std::max(jittered, retry_after.value_or(absl::ZeroDuration()));
}

// The tries of one read.
class RetryTimer {
 public:
  explicit RetryTimer(absl::Time deadline) : deadline_(deadline) {}

  // A try failed at `now`. When the next one may begin; left out: there is
  // none.
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

  int tries() const { return tries_; }  // failed tries

 private:
  const absl::Time deadline_;
  int tries_ = 0;
};

}  // namespace gandem
