// SPDX-License-Identifier: Apache-2.0
//
// Thread safety: pure function. Errors: Torch exceptions.
#pragma once

#include <vector>

#include "training/optimizers/rules/update_rule.h"

namespace gandem {

// L2 norm of each tensor.
std::vector<double> Norms(const Tensors& tensors);

}  // namespace gandem
