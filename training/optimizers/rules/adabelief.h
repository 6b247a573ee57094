// SPDX-License-Identifier: Apache-2.0
//
// AdaBelief (Zhuang et al. 2020, algorithm 2): Adam whose second moment is that
// of the gradient's deviation from its mean m, so that a gradient that is as
// expected makes a large step.
//   s_t = beta2 * s_{t-1} + (1 - beta2) * (g_t - m_t)^2 + eps_root
//   step = learning rate * m^_t / (sqrt(s^_t) + eps)
//
// State: "exp_avg.<parameter>", "exp_avg_var.<parameter>".
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct AdaBeliefOptions {
  double beta1 = 0.5;  // above 0: see config.proto
  double beta2 = 0.999;
  double eps = 1e-12;           // added to the root
  double eps_root = 1e-12;      // added under the root, at every step
  bool bias_correction = true;  // m^ = m / (1 - beta1^t), s^ likewise
  double weight_decay = 0;
  // Parameters shrink by learning rate * weight_decay; otherwise weight_decay *
  // parameter is added to the gradient (L2).
  bool decoupled_weight_decay = true;
};

std::unique_ptr<UpdateRule> MakeAdaBelief(const AdaBeliefOptions& options,
                                          const TensorsByName& parameters);

}  // namespace gandem
