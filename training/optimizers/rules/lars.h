// SPDX-License-Identifier: Apache-2.0
//
// LARS (You et al. 2017, algorithm 1): SGD with momentum whose steps are scaled
// per tensor by
//   ratio = trust * ||w|| / (||g|| + weight_decay * ||w||)
//   v_t = momentum * v_{t-1} + learning rate * ratio * (g_t + weight_decay * w)
// A tensor or gradient of zeros has the ratio 1.
//
// State: "momentum.<parameter>".
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct LarsOptions {
  double momentum = 0.9;
  double trust = 1e-3;
  double weight_decay = 0;  // L2
  // Parameters of at most one dimension (biases, normalization) get ratio 1 and
  // no weight decay.
  bool skip_vectors = true;
};

std::unique_ptr<UpdateRule> MakeLars(const LarsOptions& options,
                                     const TensorsByName& parameters);

}  // namespace gandem
