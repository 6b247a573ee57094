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

// Three ways to trade variety for quality, which differ (models.md 6.4), and
// the noise that layers add.
struct NoiseOptions {
  // A value whose magnitude is above is drawn again (Brock et al. 2019, section
  // 3.1; StudioGAN); 0: none is.
  double truncation = 0;
  // Standard deviation: every value times this (BigGAN-PyTorch's z_var).
  double scale = 1;
  // Styles that are made of the noise move towards their mean: mean + psi
  // (style - mean). Of StyleGAN2 alone; the noise stays (UseTruncation in
  // load_generator.h). 1: they do not.
  double psi = 1;
  // StyleGAN2's noise inputs are drawn for each image, as in its published
  // FID; else all images have the same constant noise (UseNoiseInputs).
  bool random_inputs = false;

  bool operator==(const NoiseOptions&) const = default;
};

// float32 [range.count, noise_dim]: row i is stream (seed, kSample, 0, i), as
// in the grids that a run writes.
at::Tensor SampleNoise(uint64_t seed, const NoiseOptions& options,
                       int64_t noise_dim, IndexRange range);

// A truncation of 0, or not so small that noise is not found in reasonable
// time, nor so large that it changes nothing; a scale in (0, 10]; a psi in
// [-2, 2].
void CheckNoise(const NoiseOptions& options, Faults& faults);

// [rows * steps, noise_dim]: row by row the way from sample 2 r to sample
// 2 r + 1 along the great circle (Shoemake 1985, "Animating rotation with
// quaternion curves", section 3.3; White 2016 for noise): a straight line would
// leave the lengths that normal noise has. steps >= 2; both ends belong to it.
at::Tensor InterpolatedNoise(uint64_t seed, const NoiseOptions& options,
                             int64_t noise_dim, int64_t rows, int64_t steps);

// float64 [2, range.count, noise_dim]: for each row a point of the way between
// samples 2 i and 2 i + 1, as in InterpolatedNoise, with t uniform in [0, 1),
// and the point at t + epsilon.
at::Tensor PathNoise(uint64_t seed, const NoiseOptions& options,
                     int64_t noise_dim, IndexRange range, double epsilon);

}  // namespace gandem
