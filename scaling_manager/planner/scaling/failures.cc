// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/scaling/failures.h"

#include <cmath>

#include "common/philox.h"

namespace gandem {

double YoungInterval(const FailureModel& model) {
  return std::sqrt(2 * model.checkpoint * model.mean_between);
}

double BestInterval(const FailureModel& model) {
  const double mean = model.mean_between;
  const double cost = model.checkpoint;
  if (cost >= 2 * mean) return mean;
  const double ratio = cost / (2 * mean);
  return YoungInterval(model) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - cost;
}

double UsefulShare(const FailureModel& model, double interval) {
  const double step = interval + model.checkpoint;
  if (step <= 0) return 0;
  if (model.mean_between <= 0) return interval / step;
  const double mean = model.mean_between;
  const double wall =
      mean * std::exp(model.restart / mean) * std::expm1(step / mean);
  return interval / wall;
}

double SimulatedUsefulShare(const FailureModel& model, double interval,
                            int64_t intervals, uint64_t seed) {
  const double step = interval + model.checkpoint;
  if (step <= 0) return 0;
  uint64_t failures = 0;
  const auto next_failure = [&] {
    if (model.mean_between <= 0) return HUGE_VAL;
    PhiloxStream stream(seed, Purpose::kSimulatedFailure, /*step=*/0,
                        failures++);
    return -model.mean_between * std::log1p(-stream.NextUniform());
  };
  double wall = 0;
  double left = next_failure();
  for (int64_t done = 0; done < intervals;) {
    if (left >= step) {
      left -= step;
      wall += step;
      ++done;
      continue;
    }
    // What was done since the checkpoint is lost; a failure may come while the
    // run restarts, too.
    wall += left;
    for (left = next_failure(); left < model.restart; left = next_failure()) {
      wall += left;
    }
    wall += model.restart;
    left -= model.restart;
  }
  return static_cast<double>(intervals) * interval / wall;
}

}  // namespace gandem
