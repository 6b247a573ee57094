// SPDX-License-Identifier: Apache-2.0
//
// The way of schedules that go on half a cosine (Loshchilov and Hutter 2017).
//
// Thread safety: a pure function.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gandem {

// From `first` at 0 to `last` at `length` and after it. A length of 0: `last`.
inline double HalfCosine(double first, double last, double at, double length) {
  if (at >= length) return last;
  const double way = std::max(0.0, at / length);
  return last + (first - last) * (1 + std::cos(std::numbers::pi * way)) / 2;
}

}  // namespace gandem
