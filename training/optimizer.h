// SPDX-License-Identifier: Apache-2.0
//
// What turns a network's gradients into an update. One per role:
//
//   optimizer->ZeroGradients();
//   loss.backward();            // as often as there are micro-batches
//   GANDEM_RETURN_IF_ERROR(optimizer->Step());
//
// Owner: the role's worker loop, together with the network whose parameters it
// updates. Thread safety: one compute thread.
// Errors: Status below, else Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gandem {

class OptimizerConfig;  // proto/config.proto

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One update.
  //   FAILED_PRECONDITION  a parameter has no gradient; names the first one and
  //                        has changed nothing.
  virtual absl::Status Step() = 0;

  // Forgets all gradients: a parameter that the next backward passes do not
  // reach has none.
  virtual void ZeroGradients() = 0;

  // Everything that a later Step() depends on besides parameters and gradients,
  // as "<state>.<parameter>" or "<state>". The tensors share the optimizer's
  // memory: a checkpoint is saved by reading and loaded by writing them.
  virtual std::vector<std::pair<std::string, at::Tensor>> State() const = 0;
};

// Updates all parameters of `network`, which must have its final type, device
// and memory layout.
//   INVALID_ARGUMENT  lists every option that is out of range.
absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(
    const OptimizerConfig& config, const torch::nn::Module& network);

}  // namespace gandem
