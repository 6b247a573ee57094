// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/learning_rate.h"

#include <algorithm>
#include <cmath>

#include "common/half_cosine.h"

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
  const double at = static_cast<double>(round - from);
  const double length = static_cast<double>(until - from);
  const double final_factor = schedule.final_factor();
  if (schedule.shape() == RateScheduleConfig::COSINE) {
    return warmup * HalfCosine(1, final_factor, at, length);
  }
  const double left = 1 - std::clamp(at / length, 0.0, 1.0);
  return warmup * (final_factor + (1 - final_factor) * left);
}

int64_t StepOfUpdate(int64_t update, int64_t lazy_every) {
  if (lazy_every == 0) return update - 1;
  const int64_t turns = (update - 1) / (lazy_every + 1);
  const int64_t place = (update - 1) % (lazy_every + 1);
  return turns * lazy_every + std::max<int64_t>(place - 1, 0);
}

double BatchFactor(BatchScalingRule rule, int64_t batch_size,
                   int64_t base_batch_size) {
  const double ratio =
      static_cast<double>(batch_size) / static_cast<double>(base_batch_size);
  if (rule == BATCH_SQRT) return std::sqrt(ratio);
  return rule == BATCH_LINEAR ? ratio : 1;
}

}  // namespace gandem
