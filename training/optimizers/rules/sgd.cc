// SPDX-License-Identifier: Apache-2.0
//
// Stochastic gradient descent with momentum (Sutskever et al. 2013) in
// PyTorch's form, by LibTorch's fused kernel: v_1 = g_1, v_t = momentum *
// v_{t-1} + (1 - dampening) * g_t; the step is learning rate * v_t, or with
// Nesterov's momentum learning rate * (g_t + momentum * v_t).
//
// State: "momentum.<parameter>", none without momentum.
#include <ATen/ops/_fused_sgd.h>

#include "training/optimizers/rules/families.h"

namespace gandem {
namespace {

class Sgd : public UpdateRule {
 public:
  Sgd(const SgdConfig& config, const TensorsByName& parameters)
      : UpdateRule(parameters), config_(config) {
    if (config_.momentum() > 0) momenta_ = AddState("momentum");
  }

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    at::_fused_sgd_(parameters_, gradients, momenta_, config_.weight_decay(),
                    config_.momentum(), learning_rate, config_.dampening(),
                    config_.nesterov(), /*maximize=*/false,
                    /*is_first_step=*/step == 1);
  }

 private:
  const SgdConfig config_;
  Tensors momenta_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const SgdConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Sgd>(config, parameters);
}

}  // namespace gandem
