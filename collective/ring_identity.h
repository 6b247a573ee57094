// SPDX-License-Identifier: Apache-2.0
//
// Identity of a rank and its peers, as assigned by the coordinator, and the
// check that a frame comes from a peer.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "collective/ring_codec.h"

namespace gandem {

struct RingIdentity {
  int rank = 0;
  std::vector<int64_t> incarnations = {};  // of all ranks
  int64_t membership_epoch = 0;
  // By rank, whether to connect; empty: all. Failures spread by these links.
  std::vector<bool> links = {};
  // By rank, whether it shares memory with slots of `slot_bytes`; empty: none.
  std::vector<bool> shares_memory = {};
  int64_t slot_bytes = 0;

  bool LinksTo(int other) const {
    return other != rank && (links.empty() || links[other]);
  }
  // Checks that `frame` comes from a peer named by the coordinator.
  //   INVALID_ARGUMENT  not a peer of this rank
  //   ABORTED           its membership or process has ended
  //   UNAVAILABLE       this rank is still in an older membership
  absl::Status CheckSender(const RingFrame& frame) const;
};

// Returns whether a connection that ended with `status` may be retried.
bool IsWorthRetrying(const absl::Status& status);

}  // namespace gandem
