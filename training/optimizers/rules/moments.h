// SPDX-License-Identifier: Apache-2.0
//
// Helpers of update rules with moving averages.
//
// Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>

namespace gandem {

// Returns 1 / (1 - beta^step), which makes a moving average that started at 0
// unbiased (Kingma and Ba 2015, section 3).
inline double Unbias(double beta, int64_t step) {
  return 1 / (1 - std::pow(beta, static_cast<double>(step)));
}

// Returns r_t of RAdam (Liu et al. 2020, algorithm 2), the factor of a step
// with the second moment; 0 while rho_t <= 5 (PyTorch's limit; 4 in the paper).
inline double Rectification(double beta2, int64_t step) {
  const double t = static_cast<double>(step);
  const double rho_inf = 2 / (1 - beta2) - 1;
  const double rho = rho_inf - 2 * t * std::pow(beta2, t) * Unbias(beta2, step);
  if (rho <= 5) return 0;
  return std::sqrt((rho - 4) * (rho - 2) * rho_inf /
                   ((rho_inf - 4) * (rho_inf - 2) * rho));
}

// L2 or decoupled weight decay (Loshchilov and Hutter 2019).
struct WeightDecay {
  WeightDecay(double decay, bool decoupled, double learning_rate)
      : l2(decoupled ? 0 : decay),
        keep(decoupled ? 1 - learning_rate * decay : 1) {}

  double l2;    // gradient + l2 * parameter
  double keep;  // keep * parameter - step
};

}  // namespace gandem
