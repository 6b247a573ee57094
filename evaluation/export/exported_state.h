// SPDX-License-Identifier: Apache-2.0
//
// A generator's parameters and buffers as the state dict of the same network
// made of torch.nn's modules and torch.nn.utils.spectral_norm.
//
// Thread safety: the compute thread that owns the network.
// Errors: Torch exceptions.
#pragma once

#include <vector>

#include "common/checkpoint/safetensors.h"
#include "models/network.h"

namespace gandem {

// Tensor names are those of the network, except that the raw weight of a layer
// with spectral norm is named weight_orig, as in PyTorch. PyTorch evaluates
// with the stored vectors u and v; gandem iterates them once more on copies
// (models.md 6.2). So this function iterates the vectors of `network` once, for
// good, and PyTorch makes the images that ForwardMode::kEvaluate made before.
// Keys of dropout masks are left out.
std::vector<NamedTensor> ExportState(Generator& network);

}  // namespace gandem
