// SPDX-License-Identifier: Apache-2.0
//
// Written by benchmarks/quality_fit.py from docs/quality.json: change
// these, not this file. Logarithms of images needed against the best
// synchronous setting; 36 runs.
#pragma once

namespace gandem::quality {

// Of the square of the lag that optimism leaves, and of optimism's noise.
inline constexpr double kExcessSquared = 0.0223166;
inline constexpr double kOptimismNoise = 0.00856298;
// Standard deviation of a run from what is predicted of a setting that was
// not in the fit, and of seeds around the mean of theirs.
inline constexpr double kPredictionSd = 0.0714209;
inline constexpr double kSeedSd = 0.0641189;
// What was measured is of images of this batch.
inline constexpr int kBatch = 64;

// Both roles alike, one discriminator step a round.
struct MeasuredSetting {
  double lag;
  double beta1;
  double optimism;
  double mean_log_factor;
  int seeds;
};
inline constexpr MeasuredSetting kMeasured[] = {
    {0, 0, 0, 0, 3},
    {0, 0.5, 0, 0.119486, 3},
    {0, 0.5, 1, 0.00789497, 3},
    {1, 0, 0, 0.0521296, 3},
    {1, 0.5, 0, 0.267093, 3},
    {1, 0.5, 1, 0.00430947, 3},
    {2, 0, 0, 0.0733186, 1},
    {2, 0, 1, -0.00523231, 3},
    {2, 0.5, 1, 0.112342, 3},
    {2, 0.5, 1.5, 0.0155577, 1},
    {3, 0, 0, 0.166495, 1},
    {4, 0, 2, 0.156291, 3},
    {4, 0.5, 1, 0.325489, 1},
    {4, 0.5, 2, 0.153641, 3},
    {4, 0.5, 2.5, 0.12829, 1},
    {8, 0.5, 4.5, 0.498089, 1},
};

}  // namespace gandem::quality
