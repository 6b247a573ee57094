// SPDX-License-Identifier: Apache-2.0
//
// Stochastic gradient descent with momentum (Sutskever et al. 2013) in
// PyTorch's form, by LibTorch's fused kernel: v_1 = g_1, v_t = momentum *
// v_{t-1} + (1 - dampening) * g_t; the step is learning rate * v_t, or with
// Nesterov's momentum learning rate * (g_t + momentum * v_t).
//
// State: "momentum.<parameter>", none without momentum.
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct SgdOptions {
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;    // needs momentum and no dampening
  double weight_decay = 0;  // L2
};

std::unique_ptr<UpdateRule> MakeSgd(const SgdOptions& options,
                                    const TensorsByName& parameters);

}  // namespace gandem
