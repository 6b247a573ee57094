// SPDX-License-Identifier: Apache-2.0
//
// Operations on a network's gradients after the backward pass, and the update.
//
// Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <torch/nn/module.h>

#include "absl/status/statusor.h"
#include "training/optimizers/gradient_scaler.h"
#include "training/optimizers/optimizer.h"

namespace gandem {

// Returns the L2 norm over all gradients; missing ones count as zero. Finite if
// the gradients are and float64 can represent the norm.
double GradientNorm(const torch::nn::Module& network);

// Scales all gradients by min(1, max_norm / (norm + 1e-6)), as PyTorch does,
// unless the norm is not finite. Returns the norm before scaling.
double ClipGradientNorm(const torch::nn::Module& network, double max_norm);

// Unscales and clips gradients, then makes an update. Skips the update if
// `scaler` (null: no loss scaling) finds a gradient that is not finite. Returns
// the norm before clipping, or 0 for a skipped update.
//   OUT_OF_RANGE  a gradient is not finite, and there is no scaler or its scale
//                 is exhausted; no parameter has changed.
//   errors of Optimizer::Step.
absl::StatusOr<double> UpdateNetwork(const torch::nn::Module& network,
                                     double max_norm, Optimizer& optimizer,
                                     GradientScaler* scaler);

}  // namespace gandem
