// SPDX-License-Identifier: Apache-2.0
//
// Operations on all gradients of a network between backward and update.
//
// Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <torch/nn/module.h>

namespace gandem {

// L2 norm over all gradients; parameters without one count as zero.
double GradientNorm(const torch::nn::Module& network);

// Scales all gradients by min(1, max_norm / (norm + 1e-6)), as PyTorch does,
// and returns the norm from before. A norm that is not finite scales nothing.
double ClipGradientNorm(const torch::nn::Module& network, double max_norm);

}  // namespace gandem
