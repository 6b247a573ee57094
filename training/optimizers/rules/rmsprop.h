// SPDX-License-Identifier: Apache-2.0
//
// RMSprop (Hinton 2012, lecture 6e) in PyTorch's form, with the variants in
// use: centered (Graves 2013: the variance in place of the mean square),
// momentum, and eps outside (PyTorch) or inside the root (TensorFlow).
//
// State: "square_avg.<parameter>", "gradient_avg.<parameter>" when centered,
// "momentum.<parameter>" with momentum.
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct RmspropOptions {
  double alpha = 0.99;  // decay of the mean square
  double momentum = 0;
  bool centered = false;
  double eps = 1e-8;        // added to the root
  double eps_root = 0;      // added under the root
  double weight_decay = 0;  // L2
};

std::unique_ptr<UpdateRule> MakeRmsprop(const RmspropOptions& options,
                                        const TensorsByName& parameters);

}  // namespace gandem
