// SPDX-License-Identifier: Apache-2.0
//
// Freezes the parameters named by RoleConfig.freeze: no gradients are computed
// for them. Gradients of images and second derivatives of penalties still pass
// through their layers. Code that trains or sums gradients uses
// TrainedParametersOf (training/state/module_state.h). Buffers are not frozen:
// batch norm statistics and spectral norm vectors change as in PyTorch.
//
// Thread safety: the compute thread that owns the network.
#pragma once

#include <torch/nn/module.h>

#include <string>

#include "absl/status/status.h"
#include "common/config/parameter_patterns.h"
#include "proto/config.pb.h"

namespace gandem {

// Must be called before any other use of the network's parameters. `role` names
// the network in messages; `optimizer` trains the other parameters.
//   INVALID_ARGUMENT  an error of CheckPatterns; the network is unchanged.
absl::Status FreezeParameters(const std::string& role, FreezePatterns freeze,
                              const OptimizerConfig& optimizer,
                              torch::nn::Module& network);

}  // namespace gandem
