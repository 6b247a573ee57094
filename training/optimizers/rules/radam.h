// SPDX-License-Identifier: Apache-2.0
//
// RAdam (Liu et al. 2020, algorithm 2) in PyTorch's form: Adam that does
// without its second moment in the first steps, where too few gradients are in
// it, and then takes it in with the rectification r_t.
//
// State: "exp_avg.<parameter>", "exp_avg_sq.<parameter>".
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct RadamOptions {
  double beta1 = 0;
  double beta2 = 0.999;
  double eps = 1e-8;  // added to the root of the second moment, uncorrected
  double weight_decay = 0;
  // As AdaBelief's.
  bool decoupled_weight_decay = false;
};

std::unique_ptr<UpdateRule> MakeRadam(const RadamOptions& options,
                                      const TensorsByName& parameters);

}  // namespace gandem
