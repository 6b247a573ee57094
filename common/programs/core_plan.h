// SPDX-License-Identifier: Apache-2.0
//
// Assigns cores of this host to workers by shared caches and memory.
//
// Thread safety: pure functions, except ReadMachine without a description.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/worker_key.h"

namespace gandem {

// A core, or cores that share a cache, a memory or a socket.
struct CoreGroup {
  std::vector<CoreGroup> parts = {};       // empty: a core
  std::vector<int> hardware_threads = {};  // of a core, numbered by the system
};

using WorkerCores = std::map<WorkerKey, std::vector<int>>;

// Returns the `allowed` (sorted) hardware threads of this machine, or of the
// machine that hwloc makes of `description` ("numa:2 core:4 pu:2"). Hardware
// threads unknown to hwloc, as in some containers, each become a core.
CoreGroup ReadMachine(std::span<const int> allowed,
                      const std::string& description = "");

// Returns the sorted cores of each worker for its number of compute threads.
// Each core goes to one worker; two workers share a core's hardware threads
// only if cores are scarce. The cores of a worker are as close together as
// possible, and larger workers choose first. Remaining cores are distributed
// evenly, for threads that move bytes, unless they would spread a worker wider.
//   FAILED_PRECONDITION  more threads than hardware threads
absl::StatusOr<WorkerCores> PlanCores(const CoreGroup& machine,
                                      const std::map<WorkerKey, int>& threads);

// Returns for example "generator 0 on 0-3, discriminator 0 on 4-7".
std::string ToString(const WorkerCores& cores);

}  // namespace gandem
