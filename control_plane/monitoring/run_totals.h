// SPDX-License-Identifier: Apache-2.0
//
// Sums of the workers' records since the start of this `gandem train`, and the
// newest record of each worker, for scrapes.
//
// Owner: `gandem train`. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "common/round_times.h"
#include "control_plane/views/record_order.h"
#include "proto/metrics.pb.h"

namespace gandem {

class RunTotals {
 public:
  struct RoleTotals {
    int64_t rounds = 0;  // rounds of the leading rank, repetitions included
    int64_t images = 0;
    RoundTimes seconds = {};      // of the rounds that have a record
    int64_t updates_skipped = 0;  // since the start of the run
    int64_t records_dropped = 0;
  };

  // Adds a record. The caller must drop repeated records (record_order.h).
  void Add(const RoundMetrics& metrics);

  const std::map<Role, RoleTotals>& roles() const { return roles_; }
  // Returns the newest records, by role and rank, of the newest run epoch.
  const std::map<std::pair<Role, int>, RoundMetrics>& newest() const {
    return newest_;
  }
  // Returns the share of time that a role's ranks wait in their newest rounds.
  double WaitingShare(Role role) const;

 private:
  int64_t RoundsOf(const RoundMetrics& metrics) const;

  LeadingRanks leading_;
  int64_t run_epoch_ = 0;
  std::map<Role, RoleTotals> roles_;
  std::map<std::pair<Role, int>, RoundMetrics> newest_;
};

}  // namespace gandem
