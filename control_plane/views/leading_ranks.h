// SPDX-License-Identifier: Apache-2.0
//
// Whose records stand for a role where one is shown: those of the lowest rank
// that reports in the newest run epoch. Fleets that go on without a worker may
// have no rank 0.
//
// Owner: whoever shows records. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "proto/metrics.pb.h"

namespace gandem {

class LeadingRanks {
 public:
  bool Leads(const RoundMetrics& metrics) {
    // Later epochs first, then lower ranks.
    const std::pair<int64_t, int> place = {-metrics.run_epoch(),
                                           metrics.rank()};
    auto& first = first_.try_emplace(metrics.role(), place).first->second;
    if (place > first) return false;
    first = place;
    return true;
  }

 private:
  std::map<Role, std::pair<int64_t, int>> first_;
};

}  // namespace gandem
