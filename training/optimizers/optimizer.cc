// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace gandem {

Optimizer::Optimizer(TensorsByName parameters, std::unique_ptr<UpdateRule> rule,
                     LearningRate learning_rate)
    : parameters_(std::move(parameters)),
      rule_(std::move(rule)),
      learning_rate_(std::move(learning_rate)),
      step_(at::zeros({}, at::kLong)) {
  GANDEM_CHECK(!parameters_.empty());
}

absl::StatusOr<Tensors> Optimizer::Gradients() const {
  Tensors gradients;
  gradients.reserve(parameters_.size());
  for (const auto& [name, parameter] : parameters_) {
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) {
      return absl::FailedPreconditionError(
          absl::StrCat("parameter ", name,
                       " has no gradient: no backward pass has reached it"));
    }
    // Fused loops need equal strides.
    gradients.push_back(gradient.strides() == parameter.strides()
                            ? gradient
                            : at::empty_like(parameter).copy_(gradient));
  }
  return gradients;
}

absl::Status Optimizer::Step() {
  const at::NoGradGuard no_grad;
  GANDEM_ASSIGN_OR_RETURN(const Tensors gradients, Gradients());
  step_.add_(1);
  const int64_t step = step_.item<int64_t>();
  last_rate_ = learning_rate_(step);
  rule_->Apply(gradients, last_rate_, step);
  return absl::OkStatus();
}

void Optimizer::ZeroGradients() {
  for (auto& [name, parameter] : parameters_) parameter.mutable_grad().reset();
}

TensorsByName Optimizer::State() const {
  TensorsByName state = rule_->State();
  state.emplace_back("step", step_);
  return state;
}

}  // namespace gandem
