// SPDX-License-Identifier: Apache-2.0
//
// Common type of parameters, buffers and optimizer state.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace gandem {

// The tensors share their owner's memory: writing one writes the owner's state.
using TensorsByName = std::vector<std::pair<std::string, at::Tensor>>;

}  // namespace gandem
