// SPDX-License-Identifier: Apache-2.0
//
// The noise that samples are made of, one keyed stream for each image.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "common/faults.h"
#include "exchange/schedule.h"

namespace gandem {

// float32 [range.count, noise_dim]: row i is stream (seed, kSample, 0, i), as
// in the grids that a run writes. A value whose magnitude is above `truncation`
// is drawn again (Brock et al. 2019, section 3.1); 0: none is.
at::Tensor SampleNoise(uint64_t seed, double truncation, int64_t noise_dim,
                       IndexRange range);

// 0, or not so small that noise is not found in reasonable time, nor so large
// that it changes nothing.
void CheckTruncation(double truncation, Faults& faults);

// [rows * steps, noise_dim]: row by row the way from sample 2 r to sample
// 2 r + 1 along the great circle (Shoemake 1985, "Animating rotation with
// quaternion curves", section 3.3; White 2016 for noise): a straight line would
// leave the lengths that normal noise has. steps >= 2; both ends belong to it.
at::Tensor InterpolatedNoise(uint64_t seed, double truncation,
                             int64_t noise_dim, int64_t rows, int64_t steps);

}  // namespace gandem
