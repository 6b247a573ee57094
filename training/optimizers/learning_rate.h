// SPDX-License-Identifier: Apache-2.0
//
// The learning rate of each update: a schedule over the rounds of the run, and
// the rule that a batch size scales it by.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "proto/config.pb.h"

namespace gandem {

// What the learning rate is multiplied with in `round` of `rounds`, counted
// from 0. It climbs by 1 / warmup_rounds a round to 1, times 1 before
// decay_from_round, then on a line or half a cosine to final_factor at
// decay_until_round.
double RateFactor(const RateScheduleConfig& schedule, int64_t rounds,
                  int64_t round);

// The step, from 0, of update number `update`, from 1, where every
// `lazy_every`-th step from the first one takes two; 0: none does.
int64_t StepOfUpdate(int64_t update, int64_t lazy_every);

// BATCH_SQRT keeps the noise of a step (Krizhevsky 2014), BATCH_LINEAR the way
// per image (Goyal et al. 2017).
double BatchFactor(BatchScalingRule rule, int64_t batch_size,
                   int64_t base_batch_size);

}  // namespace gandem
