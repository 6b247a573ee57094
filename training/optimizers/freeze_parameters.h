// SPDX-License-Identifier: Apache-2.0
//
// RoleConfig.freeze: parameters that do not train. No backward pass computes
// their gradients. Gradients with respect to images still pass through their
// layers, as do the second derivatives of penalties. Code that trains or sums
// gradients uses TrainedParametersOf (training/state/module_state.h). Buffers
// are not frozen: batch norm statistics and the vectors of spectral norm change
// as in PyTorch.
//
// Thread safety: the compute thread that owns the network.
#pragma once

#include <torch/nn/module.h>

#include <string>

#include "absl/status/status.h"
#include "common/config/parameter_patterns.h"
#include "proto/config.pb.h"

namespace gandem {

// Call it before anything else uses the network's parameters. `role` names the
// network in messages; `optimizer` trains the other parameters.
//   INVALID_ARGUMENT  an error of CheckPatterns; the network is unchanged.
absl::Status FreezeParameters(const std::string& role, FreezePatterns freeze,
                              const OptimizerConfig& optimizer,
                              torch::nn::Module& network);

}  // namespace gandem
