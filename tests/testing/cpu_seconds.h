// SPDX-License-Identifier: Apache-2.0
//
// Processor time of this process, for bounds that a busy machine must not
// break.
#pragma once

#include <ctime>

namespace gandem::testing {

inline double CpuSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace gandem::testing
