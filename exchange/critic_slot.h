// SPDX-License-Identifier: Apache-2.0
//
// The published critic, without a lock. EXACT needs each version: the slot is
// free once all generator ranks have acknowledged the critic. BOUNDED needs the
// newest version: the next critic replaces one that was not sent.
//
// Owner: DiscriminatorEnd, under its mutex.
// Thread safety: one thread. Values; copies share the bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"

namespace gandem {

class CriticSlot {
 public:
  CriticSlot(Consistency consistency, int num_generators)
      : consistency_(consistency), acknowledged_(num_generators, -1) {}

  bool MayPublish() const {
    return consistency_ == Consistency::kBounded || !critic_.has_value() ||
           std::ranges::all_of(acknowledged_, [this](int64_t version) {
             return version >= critic_->version;
           });
  }

  // Returns the first rank that lacks the critic, or -1.
  int Lacking() const {
    for (size_t rank = 0; rank < acknowledged_.size(); ++rank) {
      if (acknowledged_[rank] < newest()) return static_cast<int>(rank);
    }
    return -1;
  }

  // Publishes a critic. Call only while MayPublish().
  //   INVALID_ARGUMENT  the version is not newer than the last one
  absl::Status Publish(CriticState critic) {
    if (critic.version <= newest()) {
      return absl::InvalidArgumentError(
          absl::StrCat("critic version ", critic.version,
                       " does not follow version ", newest()));
    }
    critic_ = std::move(critic);
    return absl::OkStatus();
  }

  // Returns the critic if `rank` lacks it and it is newer than `after`.
  std::optional<CriticState> Next(int rank, int64_t after) const {
    if (!critic_.has_value() ||
        critic_->version <= std::max(after, acknowledged_[rank])) {
      return std::nullopt;
    }
    return critic_;
  }

  // Sets the version that `rank` starts with again; -1: none.
  //   INVALID_ARGUMENT  the version was never published
  absl::Status Open(int rank, int64_t version) {
    if (version > newest()) {
      return absl::InvalidArgumentError(
          absl::StrCat("critic version ", version,
                       " was never published; the newest is ", newest()));
    }
    if (acknowledged_[rank] != kReleased) acknowledged_[rank] = version;
    return absl::OkStatus();
  }

  // Records that `rank` has this version and needs no older one.
  void Acknowledge(int rank, int64_t version) {
    acknowledged_[rank] = std::max(acknowledged_[rank], version);
  }

  // Records that `rank` needs no more critics.
  void Release(int rank) { acknowledged_[rank] = kReleased; }

 private:
  static constexpr int64_t kReleased = std::numeric_limits<int64_t>::max();

  int64_t newest() const { return critic_.has_value() ? critic_->version : -1; }

  Consistency consistency_;
  std::optional<CriticState> critic_;
  std::vector<int64_t> acknowledged_;  // by rank; -1: none
};

}  // namespace gandem
