// SPDX-License-Identifier: Apache-2.0
//
// Adam (Kingma and Ba 2015, algorithm 1) and AdamW (Loshchilov and Hutter 2019,
// algorithm 2) in PyTorch's form and by LibTorch's fused kernels: eps is added
// to the root of the corrected second moment.
//
// State: "exp_avg.<parameter>", "exp_avg_sq.<parameter>".
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct AdamOptions {
  double beta1 = 0;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  // AdamW: parameters shrink by learning rate * weight_decay. Otherwise
  // weight_decay * parameter is added to the gradient (L2).
  bool decoupled_weight_decay = false;
};

std::unique_ptr<UpdateRule> MakeAdam(const AdamOptions& options,
                                     const TensorsByName& parameters);

}  // namespace gandem
