// SPDX-License-Identifier: Apache-2.0
//
// Lion (Chen et al. 2023, algorithm 2): the step is learning rate * (sign(beta1
// * m + (1 - beta1) * g) + weight_decay * parameter), then m = beta2 * m + (1 -
// beta2) * g. Every number moves by the learning rate, so that it has to be 3
// to 10 times smaller than Adam's.
//
// State: "exp_avg.<parameter>".
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct LionOptions {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;  // decoupled
};

std::unique_ptr<UpdateRule> MakeLion(const LionOptions& options,
                                     const TensorsByName& parameters);

}  // namespace gandem
