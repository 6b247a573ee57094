// SPDX-License-Identifier: Apache-2.0
//
// The line through the times of transfers of several sizes.
//
// Thread safety: pure functions.
#pragma once

#include <span>

#include "proto/profile.pb.h"

namespace gandem {

struct TransferSample {
  double bytes = 0;
  double seconds = 0;
  // Of all processes that took part.
  double compute_seconds = 0;
};

// latency + bytes / rate, which is the least squares of relative deviations:
// small transfers count as much as large ones. `latencies` is how many of them
// a sample has: 2 where an empty answer came back. At least two sizes.
TransferProfile FitTransfers(TransferProfile::Kind kind,
                             std::span<const TransferSample> samples,
                             double latencies);

}  // namespace gandem
