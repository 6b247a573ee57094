// SPDX-License-Identifier: Apache-2.0
//
// Operations on all gradients of a network between backward and update, and
// the update.
//
// Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <torch/nn/module.h>

#include "absl/status/statusor.h"
#include "training/optimizers/gradient_scaler.h"
#include "training/optimizers/optimizer.h"

namespace gandem {

// L2 norm over all gradients; parameters without one count as zero. Finite
// wherever the gradients are, and float64 can hold it.
double GradientNorm(const torch::nn::Module& network);

// Scales all gradients by min(1, max_norm / (norm + 1e-6)), as PyTorch does,
// and returns the norm from before. A norm that is not finite scales nothing.
double ClipGradientNorm(const torch::nn::Module& network, double max_norm);

// Unscales, clips and takes a step, or skips it where `scaler` (null: no loss
// scale) finds a gradient that is not finite. Returns the norm from before
// clipping; 0: skipped.
//   OUT_OF_RANGE  a gradient is not finite, without a scaler, or when no scale
//                 is left to try; names the first and changes no parameter.
//   the errors of Optimizer::Step.
absl::StatusOr<double> UpdateNetwork(const torch::nn::Module& network,
                                     double max_norm, Optimizer& optimizer,
                                     GradientScaler* scaler);

}  // namespace gandem
