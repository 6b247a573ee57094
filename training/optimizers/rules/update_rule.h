// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of an optimizer, one rule per algorithm, used by Optimizer
// (optimizer.h). Some rules wrap another rule (rules_around.h).
//
// Owner: an Optimizer or a wrapping rule; shares the parameters. Thread safety:
// one compute thread, with gradients disabled. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "training/state/tensors_by_name.h"

namespace gandem {

using Tensors = std::vector<at::Tensor>;

std::vector<double> Norms(const Tensors& tensors);

class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  UpdateRule(const UpdateRule&) = delete;
  UpdateRule& operator=(const UpdateRule&) = delete;

  // Makes update `step`, from 1. gradients[i] has the strides of parameter i.
  virtual void Apply(const Tensors& gradients, double learning_rate,
                     int64_t step) = 0;

  // Returns the state that a later Apply() depends on besides its arguments and
  // the parameters, as "<state>.<parameter>".
  virtual TensorsByName State() const { return state_; }

 protected:
  explicit UpdateRule(const TensorsByName& parameters);

  // Adds zeros like each parameter, saved as "<name>.<parameter>".
  Tensors AddState(const std::string& name);
  // Adds a tensor per parameter; undefined tensors are not saved.
  void AddState(const std::string& name, const Tensors& tensors);
  // Allocates scratch tensors, which are not saved.
  Tensors EmptyLikeParameters() const;

  Tensors parameters_;

 private:
  std::vector<std::string> names_;  // by parameter
  TensorsByName state_;
};

}  // namespace gandem
