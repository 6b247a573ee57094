// SPDX-License-Identifier: Apache-2.0
//
// Adafactor (Shazeer and Stern 2018, algorithms 4 and 5): Adam without a second
// moment per number. That of a matrix is kept as its means over rows and over
// columns, and their product taken for it (equation 4); tensors of more
// dimensions count as matrices of the first dimension by the rest.
//   b_t = 1 - t^-decay_exponent;  second moment of g^2 + eps_square decays by
//   b_t u = g / root;  u^ = u / max(1, RMS(u) / clip_threshold) step = a_t *
//   u^,  a_t = rho_t * max(eps_scale, RMS(w))
// where rho_t is the learning rate, with relative_step at most 1 / sqrt(t).
//
// State: "row_mean.<parameter>" and "column_mean.<parameter>" for tensors of
// two or more dimensions, "exp_avg_sq.<parameter>" for the others,
// "exp_avg.<parameter>" with beta1.
//
// Thread safety, errors: see update_rule.h.
#pragma once

#include <memory>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

struct AdafactorOptions {
  double decay_exponent = 0.8;
  double beta1 = 0;  // of the steps; 0: no such state
  double eps_square = 1e-30;
  double eps_scale = 1e-3;
  double clip_threshold = 1;
  bool relative_step = true;
  bool scale_by_parameter = true;  // otherwise a_t = rho_t
  double weight_decay = 0;         // decoupled
};

std::unique_ptr<UpdateRule> MakeAdafactor(const AdafactorOptions& options,
                                          const TensorsByName& parameters);

}  // namespace gandem
