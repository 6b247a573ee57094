// SPDX-License-Identifier: Apache-2.0
//
// Noise for samples, from one keyed stream per image.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "common/faults.h"
#include "exchange/schedule.h"

namespace gandem {

// Three different ways to trade variety for quality (models.md 6.4), and the
// noise that layers add.
struct NoiseOptions {
  // Values of a larger magnitude are drawn again (Brock et al. 2019, section
  // 3.1; StudioGAN); 0: none is.
  double truncation = 0;
  // Standard deviation, a factor of every value (BigGAN-PyTorch's z_var).
  double scale = 1;
  // Moves StyleGAN2's styles, but not the noise, towards their mean: mean + psi
  // (style - mean), as UseTruncation in load_generator.h. 1: no change.
  double psi = 1;
  // Draws StyleGAN2's noise inputs for each image, as in its published FID.
  // Otherwise all images have the same constant noise (UseNoiseInputs).
  bool random_inputs = false;

  bool operator==(const NoiseOptions&) const = default;
};

// float32 [range.count, noise_dim]: row i is stream (seed, kSample, 0, i), as
// in the grids that a run writes.
at::Tensor SampleNoise(uint64_t seed, const NoiseOptions& options,
                       int64_t noise_dim, IndexRange range);

// Accepts a truncation of 0 or in [0.01, 7], a scale in (0, 10] and a psi in
// [-2, 2].
void CheckNoise(const NoiseOptions& options, Faults& faults);

// [rows * steps, noise_dim]: row by row the path from sample 2 r to sample 2 r
// + 1 along the great circle (Shoemake 1985, "Animating rotation with
// quaternion curves", section 3.3; White 2016 for noise). A straight line would
// leave the lengths that normal noise has. steps >= 2 includes both ends.
at::Tensor InterpolatedNoise(uint64_t seed, const NoiseOptions& options,
                             int64_t noise_dim, int64_t rows, int64_t steps);

// float64 [2, range.count, noise_dim]: for each row i the point at t on the
// path between samples 2 i and 2 i + 1 (see InterpolatedNoise), with t uniform
// in [0, 1), and the point at t + epsilon.
at::Tensor PathNoise(uint64_t seed, const NoiseOptions& options,
                     int64_t noise_dim, IndexRange range, double epsilon);

}  // namespace gandem
