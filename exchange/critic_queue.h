// SPDX-License-Identifier: Apache-2.0
//
// Critics that a generator has received and not used, without a lock. EXACT
// holds max(1, lag) besides the one in use, because the discriminator can run
// ahead that far (its slot holds one more). BOUNDED holds only the newest.
//
// Owner: GeneratorInbox, under its mutex.
// Thread safety: one thread. Values; copies share the bytes.
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

  // Stores a critic newer than the stored ones. Ignores repeats and returns
  // true. Returns false if there is no room until a later critic is taken.
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

  // Returns the critic for GeneratorExchange::TakeCritic, if it is there.
  //   FAILED_PRECONDITION  a newer critic was taken before, or this version is
  //                        missing between received versions
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
    // Older critics would occupy the room that `version` needs.
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

  // Makes the queue accept and discard all later critics.
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
  int64_t newest_ = -1;
  int64_t wanted_ = -1;  // EXACT: older critics are not needed
  std::optional<CriticState> in_use_;
  std::vector<CriticState> queue_;  // ascending, newer than in_use_
};

}  // namespace gandem
