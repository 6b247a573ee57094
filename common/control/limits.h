// SPDX-License-Identifier: Apache-2.0
//
// Limits that both sides of the control plane obey.
#pragma once

namespace gandem {

// AUTO has to do whole steps of a network that may be slow: join timeouts in
// which it may measure.
inline constexpr int kMeasuringJoins = 10;

// A few hundred bytes each.
inline constexpr int kMaxMetricsPerHeartbeat = 256;

}  // namespace gandem
