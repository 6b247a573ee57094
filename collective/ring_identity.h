// SPDX-License-Identifier: Apache-2.0
//
// Identity of a rank and of its peers, as assigned by the coordinator, and the
// check that a frame comes from one of them.
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
  // Ranks to be connected with; empty: all. Failures reach the others through
  // these.
  std::vector<bool> links = {};
  // Memory shared with each rank, of slots of this size; empty: with none.
  std::vector<bool> shares_memory = {};
  int64_t slot_bytes = 0;

  bool LinksTo(int other) const {
    return other != rank && (links.empty() || links[other]);
  }
  // Whether `frame` comes from a peer as the coordinator has named it.
  //   INVALID_ARGUMENT  it is no peer of this rank.
  //   ABORTED           its membership, or its process, is over.
  //   UNAVAILABLE       this rank still belongs to an older membership.
  absl::Status CheckSender(const RingFrame& frame) const;
};

// Whether a connection that ended so may be tried again.
bool IsWorthRetrying(const absl::Status& status);

}  // namespace gandem
