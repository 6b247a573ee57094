// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/optimistic.h"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty_like.h>

#include <utility>

#include "training/optimizers/rules/elementwise.h"

namespace gandem {
namespace {

class Optimistic : public UpdateRule {
 public:
  Optimistic(double optimism, std::unique_ptr<UpdateRule> inner,
             const TensorsByName& parameters)
      : UpdateRule(parameters), optimism_(optimism), inner_(std::move(inner)) {
    for (const at::Tensor& parameter : parameters_) {
      before_.push_back(at::empty_like(parameter.detach()));
    }
  }

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    at::_foreach_copy_(before_, parameters_);
    inner_->Apply(gradients, learning_rate, step);
    ForEachElement(
        [optimism = optimism_](auto& p, auto& previous, auto before) {
          const auto update = p - before;
          p = p + optimism * (update - previous);
          previous = update;
        },
        parameters_, previous_updates_, std::as_const(before_));
  }

  TensorsByName State() const override {
    TensorsByName state = inner_->State();
    for (auto& item : UpdateRule::State()) state.push_back(std::move(item));
    return state;
  }

 private:
  const double optimism_;
  const std::unique_ptr<UpdateRule> inner_;
  Tensors previous_updates_ = AddState("previous_update");
  Tensors before_;  // parameters before the inner rule's update
};

}  // namespace

std::unique_ptr<UpdateRule> MakeOptimistic(double optimism,
                                           std::unique_ptr<UpdateRule> inner,
                                           const TensorsByName& parameters) {
  return std::make_unique<Optimistic>(optimism, std::move(inner), parameters);
}

}  // namespace gandem
