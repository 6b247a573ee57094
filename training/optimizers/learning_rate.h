// SPDX-License-Identifier: Apache-2.0
//
// Computes the learning rate of each update: a schedule over the run's rounds,
// and scaling with the batch size.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "proto/config.pb.h"

namespace gandem {

// Returns the learning rate factor in `round` of `rounds`, counted from 0:
// rises by 1 / warmup_rounds per round to 1, and from decay_from_round follows
// a line or half a cosine to final_factor at decay_until_round.
double RateFactor(const RateScheduleConfig& schedule, int64_t rounds,
                  int64_t round);

// Returns the step, counted from 0, of update number `update`, counted from 1.
// Steps 0, lazy_every, 2 * lazy_every, ... have two updates (0: none have).
int64_t StepOfUpdate(int64_t update, int64_t lazy_every);

// Returns the learning rate factor for a batch size. BATCH_SQRT keeps the noise
// per step (Krizhevsky 2014), BATCH_LINEAR the progress per image (Goyal et al.
// 2017) constant.
double BatchFactor(BatchScalingRule rule, int64_t batch_size,
                   int64_t base_batch_size);

}  // namespace gandem
