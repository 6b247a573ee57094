// SPDX-License-Identifier: Apache-2.0
//
// Which cores each worker of this host runs on, so that workers do not take
// each other's caches and stay near their memory.
//
// Thread safety: pure functions, but for ReadMachine without a description.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/worker_key.h"

namespace gandem {

// A core, or cores that have something in common: a cache, a memory, a socket.
struct CoreGroup {
  std::vector<CoreGroup> parts = {};       // none: a core
  std::vector<int> hardware_threads = {};  // of a core, as the system counts
};

using WorkerCores = std::map<WorkerKey, std::vector<int>>;

// The `allowed` (sorted) hardware threads of this machine, or of the one that
// hwloc makes of a description ("numa:2 core:4 pu:2"). What hwloc does not see,
// as in some containers, is a core of its own.
CoreGroup ReadMachine(std::span<const int> allowed,
                      const std::string& description = "");

// The cores of each worker (sorted) for its number of compute threads. Each
// core goes to one worker; hardware threads of one core go to two only if there
// are not enough cores. A worker's are as near to each other as can be, and
// larger workers choose first. What is left over is shared out evenly, for the
// threads that move bytes, unless a worker would be spread wider by it.
//   FAILED_PRECONDITION  there are more threads than hardware threads.
absl::StatusOr<WorkerCores> PlanCores(const CoreGroup& machine,
                                      const std::map<WorkerKey, int>& threads);

// "generator 0 on 0-3, discriminator 0 on 4-7"
std::string ToString(const WorkerCores& cores);

}  // namespace gandem
