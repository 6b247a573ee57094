// SPDX-License-Identifier: Apache-2.0
//
// All ranks of a fleet in one process: the real algorithms over queues instead
// of sockets. Timing can be adversarial, and chunks can be tampered with.
//
// Owner: the test. Each Collective may be used by its own thread, and destroyed
// in any order. Thread safety: collective.h.
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
  // Maximum delay of a chunk before it is sent and before it is received; drawn
  // from the seed, rank and number.
  absl::Duration max_delay = absl::ZeroDuration();
  uint64_t seed = 1;
  // Replaces a chunk by no chunk (lost), itself, or two chunks (repeated).
  // Called under a lock.
  std::function<std::vector<Chunk>(int from, int to, Chunk chunk)> tamper = {};
};

// Returns one collective per rank, by rank.
std::vector<std::unique_ptr<Collective>> MakeInProcessFleet(
    int size, const FleetOptions& options);

// Calls `act` for every rank on its own thread and returns the results. A rank
// that fails closes its collective with its error.
std::vector<absl::Status> OnEveryRank(
    const std::vector<std::unique_ptr<Collective>>& fleet,
    const std::function<absl::Status(Collective&)>& act);

}  // namespace gandem::testing
