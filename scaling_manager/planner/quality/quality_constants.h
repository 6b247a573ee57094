// SPDX-License-Identifier: Apache-2.0
//
// Written by benchmarks/quality_fit.py from docs/quality.json: change
// these, not this file. Logarithms of images needed against the best
// synchronous setting; 36 runs.
#pragma once

namespace gandem::quality {

// Weights: squared lag that optimism leaves, and the noise of optimism.
inline constexpr double kExcessSquared = 0.0223166;
inline constexpr double kOptimismNoise = 0.00856298;
// Standard deviation of a run from what is predicted of a setting that was
// not in the fit.
inline constexpr double kPredictionSd = 0.0714209;

}  // namespace gandem::quality
