// SPDX-License-Identifier: Apache-2.0
//
// Half-cosine curve of schedules (Loshchilov and Hutter 2017).
//
// Thread safety: a pure function.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gandem {

// Returns `first` at 0, `last` from `length` (which may be 0) on.
inline double HalfCosine(double first, double last, double at, double length) {
  if (at >= length) return last;
  const double way = std::max(0.0, at / length);
  return last + (first - last) * (1 + std::cos(std::numbers::pi * way)) / 2;
}

}  // namespace gandem
