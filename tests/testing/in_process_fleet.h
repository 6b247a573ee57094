// SPDX-License-Identifier: Apache-2.0
//
// All ranks of a fleet in one process, for tests: the real algorithms over
// queues instead of sockets. Timing can be made adversarial, and chunks can be
// tampered with on their way.
//
// Owner: the test. Each Collective may be used by a thread of its own, and
// destroyed in any order.
// Thread safety: collective.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "collective/chunk.h"
#include "collective/collective.h"
#include "collective/operation_runner.h"

namespace gandem::testing {

struct FleetOptions {
  RunnerOptions runner = {};
  // A chunk waits up to this long before it is sent and before it is taken;
  // drawn from the seed, rank and number.
  absl::Duration max_delay = absl::ZeroDuration();
  uint64_t seed = 1;
  // Replaces a chunk: with nothing (lost), with itself, or with two chunks
  // (sent twice). Called under a lock.
  std::function<std::vector<Chunk>(int from, int to, Chunk chunk)> tamper = {};
};

// Returns one collective per rank, by rank.
std::vector<std::unique_ptr<Collective>> MakeInProcessFleet(
    int size, const FleetOptions& options);

// Calls `act` for every rank on a thread of its own and returns what they
// returned. A rank that fails closes its collective with that.
std::vector<absl::Status> OnEveryRank(
    const std::vector<std::unique_ptr<Collective>>& fleet,
    const std::function<absl::Status(Collective&)>& act);

}  // namespace gandem::testing
