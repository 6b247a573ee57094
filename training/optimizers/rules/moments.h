// SPDX-License-Identifier: Apache-2.0
//
// What rules with moving averages share.
//
// Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>

namespace gandem {

// 1 / (1 - beta^step): makes a moving average that started at 0 unbiased
// (Kingma and Ba 2015, section 3).
inline double Unbias(double beta, int64_t step) {
  return 1 / (1 - std::pow(beta, static_cast<double>(step)));
}

// The two places that a weight decay can have (Loshchilov and Hutter 2019).
struct WeightDecay {
  WeightDecay(double decay, bool decoupled, double learning_rate)
      : l2(decoupled ? 0 : decay),
        keep(decoupled ? 1 - learning_rate * decay : 1) {}

  double l2;    // gradient + l2 * parameter
  double keep;  // keep * parameter - step
};

}  // namespace gandem
