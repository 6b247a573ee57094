// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gandem {

double RateFactor(const RateScheduleConfig& schedule, int64_t rounds,
                  int64_t round) {
  const int64_t warmup_rounds = schedule.warmup_rounds();
  const double warmup =
      round < warmup_rounds
          ? static_cast<double>(round + 1) / static_cast<double>(warmup_rounds)
          : 1;
  if (schedule.shape() == RateScheduleConfig::CONSTANT) return warmup;
  const int64_t from = schedule.decay_from_round();
  const int64_t until =
      schedule.decay_until_round() == 0 ? rounds : schedule.decay_until_round();
  const double way = std::clamp(
      static_cast<double>(round - from) / static_cast<double>(until - from),
      0.0, 1.0);
  const double left = schedule.shape() == RateScheduleConfig::LINEAR
                          ? 1 - way
                          : (1 + std::cos(std::numbers::pi * way)) / 2;
  const double final_factor = schedule.final_factor();
  return warmup * (final_factor + (1 - final_factor) * left);
}

double BatchFactor(BatchScalingRule rule, int64_t batch_size,
                   int64_t base_batch_size) {
  const double ratio =
      static_cast<double>(batch_size) / static_cast<double>(base_batch_size);
  if (rule == BATCH_SQRT) return std::sqrt(ratio);
  return rule == BATCH_LINEAR ? ratio : 1;
}

}  // namespace gandem
