// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/hedge_policy.h"

#include <algorithm>

namespace gandem {

void HedgePolicy::AddServiceTime(absl::Duration taken) {
  if (times_.size() < kHedgeMemory) {
    times_.push_back(taken);
    return;
  }
  times_[next_] = taken;
  next_ = (next_ + 1) % kHedgeMemory;
}

std::optional<absl::Duration> HedgePolicy::Delay() const {
  if (times_.size() < kFewestForHedge) return std::nullopt;
  std::vector<absl::Duration> sorted = times_;
  const auto place =
      sorted.begin() +
      static_cast<int64_t>(kHedgeQuantile * static_cast<double>(sorted.size()));
  std::ranges::nth_element(sorted, place);
  return *place;
}

bool HedgePolicy::Take(int64_t bytes) {
  const double most = kMostHedgedBytes * static_cast<double>(requested_bytes_);
  if (static_cast<double>(hedged_bytes_ + bytes) > most) return false;
  hedged_bytes_ += bytes;
  return true;
}

}  // namespace gandem
