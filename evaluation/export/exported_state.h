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

// Names are the network's, but for the raw weight of a layer with spectral
// norm, which is weight_orig there. PyTorch's evaluation uses the stored
// vectors u and v; ours iterates them once more on copies (models.md 6.2). So
// `network` does that here, for good, and PyTorch's images are those of
// ForwardMode::kEvaluate before. Keys of dropout masks are left out.
std::vector<NamedTensor> ExportState(Generator& network);

}  // namespace gandem
