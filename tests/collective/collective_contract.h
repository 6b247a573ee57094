// SPDX-License-Identifier: Apache-2.0
//
// Requirements on every Collective, and the sums that operation_runner.h
// documents, computed in another way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "collective/collective.h"

namespace gandem::testing {

using Fleet = std::vector<std::unique_ptr<Collective>>;
using Bytes = std::vector<std::byte>;

// Runs `work` for each rank, in threads.
void RunRanks(const Fleet& fleet,
              const std::function<void(int rank, Collective&)>& work);

absl::Status WaitLong(Collective& collective, Collective::Ticket ticket);

// Returns numbers of many magnitudes, so that sums depend on their order. The
// result depends on the arguments only.
Bytes DrawElements(ElementType type, size_t count, int rank, uint64_t seed);

// Returns the sum that a fleet must compute, for each order of summation.
Bytes RankOrderSum(ElementType type, const std::vector<Bytes>& terms);
Bytes RingSum(ElementType type, const std::vector<Bytes>& terms);
Bytes HierarchicalSum(ElementType type, const std::vector<Bytes>& terms,
                      const std::vector<std::string>& hosts);

struct SumCase {
  ElementType type = ElementType::kFloat32;
  size_t count = 0;
  uint64_t seed = 0;
};
// Runs the all-reduces of all cases at the same time and checks their sums.
// `hosts` is empty or equals the fleet's option; buffers larger than
// small_bytes use the ring.
void CheckSums(const Fleet& fleet, const std::vector<SumCase>& cases,
               int64_t small_bytes, const std::vector<std::string>& hosts);

// Checks broadcasts from each rank and all-gathers of `sizes` bytes per block.
void CheckCopies(const Fleet& fleet, const std::vector<size_t>& sizes);

}  // namespace gandem::testing
