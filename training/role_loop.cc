// SPDX-License-Identifier: Apache-2.0
#include "training/role_loop.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace gandem {

StateShard NewShard(const RoleOptions& options, const RoleServices& services) {
  return services.saves_whole_state
             ? StateShard(0, 1)
             : StateShard(options.rank, options.fleet_size);
}

void RoundTimer::EndRound(RoundMetrics& metrics) {
  const absl::Time now = absl::Now();
  metrics.set_unix_seconds(absl::ToUnixMicros(now) * 1e-6);
  metrics.set_round_seconds(absl::ToDoubleSeconds(now - start_));
  metrics.set_wait_images_seconds(absl::ToDoubleSeconds(waits_[kImages]));
  metrics.set_wait_feedback_seconds(absl::ToDoubleSeconds(waits_[kFeedback]));
  metrics.set_wait_data_seconds(absl::ToDoubleSeconds(waits_[kData]));
  metrics.set_wait_cache_seconds(absl::ToDoubleSeconds(waits_[kCache]));
  metrics.set_wait_sync_seconds(absl::ToDoubleSeconds(waits_[kSync]));
  start_ = now;
  std::fill(std::begin(waits_), std::end(waits_), absl::ZeroDuration());
}

}  // namespace gandem
