// SPDX-License-Identifier: Apache-2.0
//
// Which of the workers' records count where each round is to be shown once.
//
// Owner: whoever hears records. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "proto/metrics.pb.h"

namespace gandem {

// Workers repeat their records until they are acknowledged: one that is not
// newer than the last of its worker is a repeat.
class NewRecords {
 public:
  // False: the same (role, rank, run epoch, round) was there, or a later one.
  bool Note(const RoundMetrics& metrics) {
    // Before the first record of a worker: (0, 0), and epochs start at 1.
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

// The records of the lowest rank that reports in the newest run epoch stand for
// a role where one is shown. Fleets that go on without a worker may have no
// rank 0.
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
