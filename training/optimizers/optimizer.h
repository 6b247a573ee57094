// SPDX-License-Identifier: Apache-2.0
//
// Updates the parameters of a network from their gradients. One per role:
//
//   optimizer->ZeroGradients();
//   loss.backward();            // for each micro-batch
//   GANDEM_RETURN_IF_ERROR(optimizer->Step());
//
// make_optimizer.h makes an optimizer; an UpdateRule performs the arithmetic.
//
// Owner: the role's worker loop, with the network to update. Thread safety: one
// compute thread. Errors: Status as documented; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "training/optimizers/rules/update_rule.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class Optimizer {
 public:
  // Returns the learning rate of update number `step`, counted from 1.
  using LearningRate = std::function<double(int64_t step)>;

  // `parameters` is nonempty, with final types, devices and layouts. `rule` was
  // made for the same parameters.
  Optimizer(TensorsByName parameters, std::unique_ptr<UpdateRule> rule,
            LearningRate learning_rate);

  //   FAILED_PRECONDITION  a parameter has no gradient; nothing has changed.
  absl::Status Step();

  // Returns the learning rate of the last Step(); 0 before the first.
  double learning_rate() const { return last_rate_; }

  // Removes all gradients. Parameters not reached later then have none.
  void ZeroGradients();

  // Returns everything that a later Step() depends on besides parameters and
  // gradients, as "<state>.<parameter>", and "step", the number of updates
  // (int64). The tensors share the optimizer's memory, for loading.
  TensorsByName State() const;

 private:
  // Returns all gradients, each with the strides of its parameter.
  absl::StatusOr<Tensors> Gradients() const;

  TensorsByName parameters_;
  const std::unique_ptr<UpdateRule> rule_;
  const LearningRate learning_rate_;
  at::Tensor step_;
  double last_rate_ = 0;  // for reports only
};

}  // namespace gandem
