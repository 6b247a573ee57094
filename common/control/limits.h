// SPDX-License-Identifier: Apache-2.0
//
// What both sides of the control plane keep to.
#pragma once

namespace gandem {

// A few hundred bytes each.
inline constexpr int kMaxMetricsPerHeartbeat = 256;

}  // namespace gandem
