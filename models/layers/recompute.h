// SPDX-License-Identifier: Apache-2.0
//
// Gradient checkpointing (Chen et al. 2016, "Training deep nets with sublinear
// memory cost"): recomputes a block's inner results in the backward pass.
//
// The second pass computes the same numbers and changes no state. It follows a
// kTrain pass in kFrozen mode: batch norm uses the statistics of the same input
// without recording them again, and spectral norm uses the vectors stored by
// the first pass, which are restored temporarily if another micro-batch has
// iterated them. Parameters must not change before the backward pass.
//
// Gradients can be differentiated again (gradient penalties).
//
// Thread safety: a graph belongs to the thread that made it.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <vector>

#include "models/network.h"

namespace gandem {

// Forward pass of a block, a pure function of its arguments and the block's
// tensors; inputs may be undefined.
using BlockForward = std::function<at::Tensor(
    const std::vector<at::Tensor>& inputs, ForwardMode mode)>;

// Returns forward(inputs, mode) as a new tensor (not a view), and discards its
// activations if there will be a backward pass.
at::Tensor Recompute(std::shared_ptr<torch::nn::Module> block,
                     const std::vector<at::Tensor>& inputs, ForwardMode mode,
                     BlockForward forward);

}  // namespace gandem
