// SPDX-License-Identifier: Apache-2.0
//
// The learning rate of each update: a schedule over the rounds of the run, and
// the rule that a batch size scales it by.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

namespace gandem {

struct RateSchedule {
  enum class Shape { kConstant, kLinear, kCosine };

  Shape shape = Shape::kConstant;
  int64_t warmup_rounds = 0;      // >= 0
  int64_t decay_from_round = 0;   // >= 0
  int64_t decay_until_round = 1;  // > decay_from_round
  double final_factor = 0;        // of the rate, from decay_until_round on

  // What the learning rate is multiplied with in `round`, counted from 0. It
  // climbs by 1 / warmup_rounds a round to 1, times 1 before decay_from_round,
  // then on a line or half a cosine to final_factor at decay_until_round.
  double Factor(int64_t round) const;
};

enum class BatchScaling {
  kNone,
  kSqrt,    // sqrt(batch / base): keeps the noise of a step (Krizhevsky 2014)
  kLinear,  // batch / base: keeps the way per image (Goyal et al. 2017)
};

double BatchFactor(BatchScaling scaling, int64_t batch_size,
                   int64_t base_batch_size);

}  // namespace gandem
