// SPDX-License-Identifier: Apache-2.0
//
// Limits that both sides of the control plane respect.
#pragma once

namespace gandem {

// Join timeouts in which AUTO may measure whole steps of slow networks.
inline constexpr int kMeasuringJoins = 10;

// A record has a few hundred bytes.
inline constexpr int kMaxMetricsPerHeartbeat = 256;

}  // namespace gandem
