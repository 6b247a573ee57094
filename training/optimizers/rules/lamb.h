// SPDX-License-Identifier: Apache-2.0
//
// LAMB (You et al. 2020, algorithm 2): Adam whose steps are scaled per tensor
// by the norm of the parameter.
//   r_t = m^_t / (sqrt(v^_t) + eps) + weight_decay * w
//   step = learning rate * ||w|| / ||r_t|| * r_t
// A tensor or a step of zeros has the ratio 1.
//
// State: "exp_avg.<parameter>", "exp_avg_sq.<parameter>". One more copy of the
// parameters holds r_t.
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct LambOptions {
  double beta1 = 0;
  double beta2 = 0.999;
  double eps = 1e-6;
  bool bias_correction = true;  // m^ = m / (1 - beta1^t), v^ likewise
  double weight_decay = 0;
  // Parameters of at most one dimension (biases, normalization) get ratio 1 and
  // no weight decay.
  bool skip_vectors = true;
};

std::unique_ptr<UpdateRule> MakeLamb(const LambOptions& options,
                                     const TensorsByName& parameters);

}  // namespace gandem
