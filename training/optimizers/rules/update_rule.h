// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of an optimizer, one rule per algorithm. Optimizer
// (optimizer.h) does the rest. Some rules wrap another rule (rules_around.h).
//
// Owner: an Optimizer or a wrapping rule; it shares the parameters.
// Thread safety: one compute thread, gradients switched off.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "training/state/tensors_by_name.h"

namespace gandem {

using Tensors = std::vector<at::Tensor>;

// L2 norm of each tensor.
std::vector<double> Norms(const Tensors& tensors);

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  UpdateRule(const UpdateRule&) = delete;
  UpdateRule& operator=(const UpdateRule&) = delete;

  // Update number `step`, counted from 1. gradients[i] belongs to parameter i
  // and has its type and strides.
  virtual void Apply(const Tensors& gradients, double learning_rate,
                     int64_t step) = 0;

  // The state that a later Apply() depends on besides its arguments and the
  // parameters, as "<state>.<parameter>".
  virtual TensorsByName State() const { return state_; }

 protected:
  explicit UpdateRule(const TensorsByName& parameters);

  // Adds state with the shape and layout of each parameter, initially zero,
  // saved as "<name>.<parameter>".
  Tensors AddState(const std::string& name);
  // Adds tensors of other shapes, one per parameter; undefined tensors are not
  // saved.
  void AddState(const std::string& name, const Tensors& tensors);
  // Scratch tensors, which are not saved.
  Tensors EmptyLikeParameters() const;

  Tensors parameters_;

 private:
  std::vector<std::string> names_;  // by parameter
  TensorsByName state_;
};

}  // namespace gandem
