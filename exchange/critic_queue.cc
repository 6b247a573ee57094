// SPDX-License-Identifier: Apache-2.0
#include "exchange/critic_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gandem {

CriticQueue::CriticQueue(const Schedule& schedule)
    : exact_(schedule.IsExact()),
      capacity_(std::max<int64_t>(1, schedule.lag)) {}

bool CriticQueue::Offer(const CriticState& critic) {
  if (critic.version <= newest_) return true;
  if (!drained_ && critic.version >= wanted_) {
    if (!exact_) queue_.clear();
    if (queue_.size() >= capacity_) return false;
    queue_.push_back(critic);
  }
  newest_ = critic.version;
  return true;
}

absl::StatusOr<std::optional<CriticState>> CriticQueue::Take(int64_t version) {
  if (!exact_) {
    if (!queue_.empty() && queue_.back().version >= version) {
      in_use_ = std::move(queue_.back());
      queue_.clear();
    }
    if (in_use_.has_value() && in_use_->version >= version) return in_use_;
    return std::optional<CriticState>();
  }
  if (in_use_.has_value() && in_use_->version == version) return in_use_;
  if (in_use_.has_value() && in_use_->version > version) {
    return absl::FailedPreconditionError(
        absl::StrCat("critic version ", version, " was given up when version ",
                     in_use_->version, " was taken"));
  }
  wanted_ = version;
  // Older ones take the room of the one that is awaited.
  while (!queue_.empty() && queue_.front().version < version) {
    queue_.erase(queue_.begin());
  }
  if (queue_.empty() && newest_ < version) return std::optional<CriticState>();
  if (queue_.empty() || queue_.front().version != version) {
    return absl::FailedPreconditionError(absl::StrCat(
        "critic version ", version, " was not published; ",
        queue_.empty() ? newest_ : queue_.front().version, " was"));
  }
  in_use_ = std::move(queue_.front());
  queue_.erase(queue_.begin());
  return in_use_;
}

void CriticQueue::Drain() {
  drained_ = true;
  queue_.clear();
  in_use_.reset();
}

}  // namespace gandem
