// SPDX-License-Identifier: Apache-2.0
//
// Selects the workers' records that represent a round.
//
// Owner: the object that receives the records. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "proto/metrics.pb.h"

namespace gandem {

// Recognizes repeats: workers resend a record until it is acknowledged. A
// record is a repeat if it is not newer than the last record of its worker.
class NewRecords {
 public:
  // Returns false for a repeat.
  bool Note(const RoundMetrics& metrics) {
    // Epochs start at 1, so the initial (0, 0) is before any record.
    auto& newest = newest_[{metrics.role(), metrics.rank()}];
    const std::pair<int64_t, int64_t> now = {metrics.run_epoch(),
                                             metrics.round()};
    if (now <= newest) return false;
    newest = now;
    return true;
  }

 private:
  // Run epoch and round of the newest record, by role and rank.
  std::map<std::pair<Role, int>, std::pair<int64_t, int64_t>> newest_;
};

// Selects the records that represent a role: those of the lowest rank that
// reports in the newest run epoch. A fleet may have lost its rank 0.
class LeadingRanks {
 public:
  bool Leads(const RoundMetrics& metrics) {
    // Later epochs come first, then lower ranks.
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
