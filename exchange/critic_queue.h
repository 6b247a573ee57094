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

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"

namespace gandem {

class CriticQueue {
 public:
  explicit CriticQueue(const Schedule& schedule);

  // Stores a critic that follows the others; a repeat is accepted and ignored.
  // False: no room until a later one is taken.
  bool Offer(const CriticState& critic);

  // The critic that GeneratorExchange::TakeCritic asks for; empty: not yet.
  //   FAILED_PRECONDITION  it is older than one that was taken, or missing
  //                        between the received ones.
  absl::StatusOr<std::optional<CriticState>> Take(int64_t version);

  // Nothing will be taken any more: accept everything, keep nothing.
  void Drain();

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
