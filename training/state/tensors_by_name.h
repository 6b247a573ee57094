// SPDX-License-Identifier: Apache-2.0
//
// How parameters, buffers and optimizer state are handed around.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace gandem {

// The tensors share their owner's memory: writing one writes the owner's state.
using TensorsByName = std::vector<std::pair<std::string, at::Tensor>>;

}  // namespace gandem
