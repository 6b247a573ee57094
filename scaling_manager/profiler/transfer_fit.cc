// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/transfer_fit.h"

#include <algorithm>

namespace gandem {
namespace {

struct Line {
  double at_zero = 0;
  double slope = 0;
};

// Fits y = at_zero + slope * x with weights 1 / y^2. A line that would begin
// below 0 goes through the origin instead.
Line FitRelative(std::span<const TransferSample> samples,
                 double TransferSample::*y) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const TransferSample& sample : samples) {
    const double value = std::max(sample.*y, 1e-12);
    const double weight = 1 / (value * value);
    w += weight;
    wx += weight * sample.bytes;
    wy += weight * value;
    wxx += weight * sample.bytes * sample.bytes;
    wxy += weight * sample.bytes * value;
  }
  const double determinant = w * wxx - wx * wx;
  if (determinant <= 0) return {.at_zero = w > 0 ? wy / w : 0, .slope = 0};
  const Line line = {.at_zero = (wy * wxx - wx * wxy) / determinant,
                     .slope = (w * wxy - wx * wy) / determinant};
  if (line.at_zero < 0) return {.at_zero = 0, .slope = wxy / wxx};
  return line;
}

// Higher than the speed of any memory.
constexpr double kMostBytesPerSecond = 1e13;

}  // namespace

TransferProfile FitTransfers(TransferProfile::Kind kind,
                             std::span<const TransferSample> samples,
                             double latencies) {
  const Line time = FitRelative(samples, &TransferSample::seconds);
  const Line compute = FitRelative(samples, &TransferSample::compute_seconds);
  TransferProfile profile;
  profile.set_kind(kind);
  profile.set_latency_seconds(time.at_zero / latencies);
  profile.set_bytes_per_second(1 /
                               std::max(time.slope, 1 / kMostBytesPerSecond));
  profile.set_compute_seconds_per_byte(std::max(0.0, compute.slope));
  return profile;
}

}  // namespace gandem
