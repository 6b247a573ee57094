// SPDX-License-Identifier: Apache-2.0
//
// Gradient checkpointing (Chen et al. 2016, "Training deep nets with sublinear
// memory cost"): what a block computes inside is not kept for the backward pass
// but computed again there.
//
// The second pass has the same numbers and changes no state. After a pass in
// kTrain it is one in kFrozen: batch norm takes the same statistics of the same
// input and does not record them again; spectral norm takes the vectors that
// the first pass has stored, which are put back for it if a later pass (another
// micro-batch) has iterated them since. Parameters must not change before the
// backward pass, as without recomputing.
//
// Gradients can be differentiated again (gradient penalties).
//
// Thread safety: the graph belongs to the thread that made it, as Torch's.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <vector>

#include "models/network.h"

namespace gandem {

// The forward pass of a block, a pure function of its arguments and the block's
// own tensors; inputs may be undefined.
using BlockForward = std::function<at::Tensor(
    const std::vector<at::Tensor>& inputs, ForwardMode mode)>;

// forward(inputs, mode), its activations dropped if there will be a backward
// pass. The output is a new tensor, not a view.
at::Tensor Recompute(std::shared_ptr<torch::nn::Module> block,
                     const std::vector<at::Tensor>& inputs, ForwardMode mode,
                     BlockForward forward);

}  // namespace gandem
