// SPDX-License-Identifier: Apache-2.0
//
// What failures cost: a run that saves its state now and then, and goes on
// from the newest copy when a worker dies (docs/cost_model.md section 9).
//
// Young 1974, "A first order approximation to the optimum checkpoint
// interval"; Daly 2006, "A higher order estimate of the optimum checkpoint
// interval for restart dumps", equations 13, 20 and 37.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>

namespace gandem {

// Seconds. Times between failures are exponentially distributed.
struct FailureModel {
  double mean_between = 0;  // of all workers together; 0: nothing fails
  double checkpoint = 0;    // that saving keeps the workers from working
  // From a failure until the run works again, the lost work not counted.
  double restart = 0;
};

// Work between two checkpoints with which a run loses the least (Daly,
// equation 37). `model` has failures and checkpoints that take time.
double BestInterval(const FailureModel& model);
// The same by Young: sqrt(2 checkpoint mean_between).
double YoungInterval(const FailureModel& model);

// Of the wall time the part that is work that counts, with `interval` seconds
// of work between checkpoints (Daly, equation 20).
double UsefulShare(const FailureModel& model, double interval);

// The same of a simulated run of `intervals` of them, with failures drawn by
// `seed`.
double SimulatedUsefulShare(const FailureModel& model, double interval,
                            int64_t intervals, uint64_t seed);

}  // namespace gandem
