// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gandem {

double RateSchedule::Factor(int64_t round) const {
  const double warmup =
      round < warmup_rounds
          ? static_cast<double>(round + 1) / static_cast<double>(warmup_rounds)
          : 1;
  if (shape == Shape::kConstant) return warmup;
  const double way =
      std::clamp(static_cast<double>(round - decay_from_round) /
                     static_cast<double>(decay_until_round - decay_from_round),
                 0.0, 1.0);
  const double left = shape == Shape::kLinear
                          ? 1 - way
                          : (1 + std::cos(std::numbers::pi * way)) / 2;
  return warmup * (final_factor + (1 - final_factor) * left);
}

double BatchFactor(BatchScaling scaling, int64_t batch_size,
                   int64_t base_batch_size) {
  const double ratio =
      static_cast<double>(batch_size) / static_cast<double>(base_batch_size);
  switch (scaling) {
    case BatchScaling::kNone:
      break;
    case BatchScaling::kSqrt:
      return std::sqrt(ratio);
    case BatchScaling::kLinear:
      return ratio;
  }
  return 1;
}

}  // namespace gandem
