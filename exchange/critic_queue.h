// SPDX-License-Identifier: Apache-2.0
//
// The critics that a generator has received and not used up, without a lock.
// EXACT holds max(1, lag) ahead of the one in use: with the one in the
// discriminator's slot that is as far as the discriminator can run ahead.
// BOUNDED holds the newest.
//
// Owner: GeneratorInbox, under its mutex.
// Thread safety: one thread; values, copies share the bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"

namespace gandem {

class CriticQueue {
 public:
  explicit CriticQueue(const Schedule& schedule)
      : exact_(schedule.IsExact()),
        capacity_(std::max<int64_t>(1, schedule.lag)) {}

  // Stores a critic that follows the others; a repeat is accepted and ignored.
  // False: no room until a later one is taken.
  bool Offer(const CriticState& critic) {
    if (critic.version <= newest_) return true;
    if (!drained_ && critic.version >= wanted_) {
      if (!exact_) queue_.clear();
      if (queue_.size() >= capacity_) return false;
      queue_.push_back(critic);
    }
    newest_ = critic.version;
    return true;
  }

  // The critic that GeneratorExchange::TakeCritic asks for; empty: not yet.
  //   FAILED_PRECONDITION  it is older than one that was taken, or missing
  //                        between the received ones.
  absl::StatusOr<std::optional<CriticState>> Take(int64_t version) {
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
      return absl::FailedPreconditionError(absl::StrCat(
          "critic version ", version, " was given up when version ",
          in_use_->version, " was taken"));
    }
    wanted_ = version;
    // Older ones take the room of the one that is awaited.
    while (!queue_.empty() && queue_.front().version < version) {
      queue_.erase(queue_.begin());
    }
    if (queue_.empty() && newest_ < version) {
      return std::optional<CriticState>();
    }
    if (queue_.empty() || queue_.front().version != version) {
      return absl::FailedPreconditionError(absl::StrCat(
          "critic version ", version, " was not published; ",
          queue_.empty() ? newest_ : queue_.front().version, " was"));
    }
    in_use_ = std::move(queue_.front());
    queue_.erase(queue_.begin());
    return in_use_;
  }

  // Nothing will be taken any more: accept everything, keep nothing.
  void Drain() {
    drained_ = true;
    queue_.clear();
    in_use_.reset();
  }

  int64_t newest_version() const { return newest_; }

 private:
  bool exact_;
  size_t capacity_;
  bool drained_ = false;
  int64_t newest_ = -1;  // received
  int64_t wanted_ = -1;  // exact: older ones are not needed any more
  std::optional<CriticState> in_use_;
  std::vector<CriticState> queue_;  // ascending, later than in_use_
};

}  // namespace gandem
