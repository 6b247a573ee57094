// SPDX-License-Identifier: Apache-2.0
//
// Fits a line to the times of transfers of several sizes.
// Thread safety: pure functions.
#pragma once

#include <span>

#include "proto/profile.pb.h"

namespace gandem {

struct TransferSample {
  double bytes = 0;
  double seconds = 0;
  // Sum over all participating processes.
  double compute_seconds = 0;
};

// Fits latency + bytes / rate by least squares of relative deviations, so that
// small transfers count as much as large ones. `latencies`: number of latencies
// in a sample, 2 with an empty answer. `samples` must have at least two sizes.
TransferProfile FitTransfers(TransferProfile::Kind kind,
                             std::span<const TransferSample> samples,
                             double latencies);

}  // namespace gandem
