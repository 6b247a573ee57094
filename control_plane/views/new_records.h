// SPDX-License-Identifier: Apache-2.0
//
// Which records are news. Workers repeat them until they are acknowledged: one
// that is not newer than the last of its worker is a repeat.
//
// Owner: whoever hears records. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "proto/metrics.pb.h"

namespace gandem {

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
  using Source = std::pair<int, int>;  // role, rank
  // Run epoch and round of the newest record.
  std::map<Source, std::pair<int64_t, int64_t>> newest_;
};

}  // namespace gandem
