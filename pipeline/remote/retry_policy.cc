// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/retry_policy.h"

#include <algorithm>

namespace gandem {

absl::Duration Backoff(int tries, double uniform,
                       std::optional<absl::Duration> retry_after) {
  absl::Duration most = kFirstBackoff;
  for (int i = 1; i < tries && most < kLongestBackoff; ++i) most *= 2;
  const absl::Duration jittered = uniform * std::min(most, kLongestBackoff);
  return std::max(jittered, retry_after.value_or(absl::ZeroDuration()));
}

// The generic cell rate algorithm (ITU-T I.371): each retry pushes the moment
// at which the budget is full again by one share of a minute; it may lie a
// minute ahead at most.
absl::Time RetryBudget::Take(absl::Time earliest) {
  const absl::Duration share = absl::Minutes(1) / per_minute_;
  const absl::Time full = std::max(spent_until_, earliest) + share;
  spent_until_ = full;
  return std::max(earliest, full - absl::Minutes(1));
}

std::optional<absl::Time> RetryTimer::Next(
    RetryKind kind, absl::Time now, double uniform,
    std::optional<absl::Duration> retry_after, RetryBudget& budget) {
  ++tries_;
  if (kind == RetryKind::kNever ||
      (kind == RetryKind::kSometimes && tries_ >= kMostTries)) {
    return std::nullopt;
  }
  const absl::Time earliest = now + Backoff(tries_, uniform, retry_after);
  if (earliest >= deadline_) return std::nullopt;
  const absl::Time begin = budget.Take(earliest);
  if (begin >= deadline_) return std::nullopt;
  return begin;
}

}  // namespace gandem
