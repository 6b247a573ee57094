// SPDX-License-Identifier: Apache-2.0
#include "control_plane/monitoring/run_totals.h"

#include <algorithm>

namespace gandem {

void RunTotals::Add(const RoundMetrics& metrics) {
  const int64_t rounds = RoundsOf(metrics);
  RoleTotals& role = roles_[metrics.role()];
  if (leading_.Leads(metrics)) role.rounds += rounds;
  role.images += rounds * metrics.images();
  role.seconds += TimesOf(metrics);
  role.updates_skipped =
      std::max(role.updates_skipped, metrics.updates_skipped());
  role.records_dropped += metrics.records_dropped();
  if (metrics.run_epoch() < run_epoch_) return;
  // A worker that has not reported in the newest epoch may have left.
  if (metrics.run_epoch() > run_epoch_) newest_.clear();
  run_epoch_ = metrics.run_epoch();
  newest_[{metrics.role(), metrics.rank()}] = metrics;
}

// Returns the number of rounds that a record covers: with
// control.metrics_every_rounds, a record includes the rounds before it.
int64_t RunTotals::RoundsOf(const RoundMetrics& metrics) const {
  const auto last = newest_.find({metrics.role(), metrics.rank()});
  if (last == newest_.end() ||
      last->second.run_epoch() != metrics.run_epoch()) {
    return 1;
  }
  return metrics.round() - last->second.round();
}

double RunTotals::WaitingShare(Role role) const {
  RoundTimes times;
  for (const auto& [worker, metrics] : newest_) {
    if (worker.first == role) times += TimesOf(metrics);
  }
  if (times.round <= 0) return 0;
  return std::clamp(1 - times.compute() / times.round, 0.0, 1.0);
}

}  // namespace gandem
