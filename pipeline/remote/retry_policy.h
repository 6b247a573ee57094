// SPDX-License-Identifier: Apache-2.0
//
// When a request is made again: exponential back-off with full jitter (Brooker
// 2015, "Exponential Backoff and Jitter"), no earlier than the server asks for
// (Retry-After), within a budget of retries per minute of the whole process: a
// server that is down is not hammered by 64 fetches at once. Pure arithmetic.
//
// Owner: values; RetryBudget is its owner's.
// Thread safety: pure functions; RetryBudget: none.
#pragma once

#include <optional>

#include "absl/time/time.h"

namespace gandem {

// What a failed request means for the next one.
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
absl::Duration Backoff(int tries, double uniform,
                       std::optional<absl::Duration> retry_after);

// Retries that are left, filled up evenly.
class RetryBudget {
 public:
  // `per_minute` (> 0) at once, and then as many in a minute.
  explicit RetryBudget(double per_minute) : per_minute_(per_minute) {}

  // Takes one and returns when it may begin, `earliest` or later.
  absl::Time Take(absl::Time earliest);

 private:
  const double per_minute_;
  absl::Time spent_until_ = absl::InfinitePast();  // when it is full again
};

// The tries of one read.
class RetryTimer {
 public:
  explicit RetryTimer(absl::Time deadline) : deadline_(deadline) {}

  // A try failed at `now`. When the next one may begin; left out: there is
  // none.
  std::optional<absl::Time> Next(RetryKind kind, absl::Time now, double uniform,
                                 std::optional<absl::Duration> retry_after,
                                 RetryBudget& budget);

  int tries() const { return tries_; }  // that failed

 private:
  const absl::Time deadline_;
  int tries_ = 0;
};

}  // namespace gandem
