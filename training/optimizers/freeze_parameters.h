// SPDX-License-Identifier: Apache-2.0
//
// RoleConfig.freeze: parameters that keep their bits. They want no gradient
// from then on, so that no backward pass computes one. Gradients with respect
// to images still pass through their layers, penalties' second derivatives,
// too. Whoever trains or sums gradients takes TrainedParametersOf
// (training/state/module_state.h). Buffers are no parameters: batch norm's
// statistics and the vectors of spectral norm change as in PyTorch.
//
// Thread safety: the compute thread that owns the network.
#pragma once

#include <torch/nn/module.h>

#include <string>

#include "absl/status/status.h"
#include "common/config/parameter_patterns.h"
#include "proto/config.pb.h"

namespace gandem {

// Before anything is made of the network's parameters. `role` is its name in
// messages; `optimizer` the one that the others will have.
//   INVALID_ARGUMENT  CheckPatterns; nothing has changed.
absl::Status FreezeParameters(const std::string& role, FreezePatterns freeze,
                              const OptimizerConfig& optimizer,
                              torch::nn::Module& network);

}  // namespace gandem
