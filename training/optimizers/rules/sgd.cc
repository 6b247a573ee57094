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

struct SgdOptions {
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;    // needs momentum and no dampening
  double weight_decay = 0;  // L2
};

class Sgd : public UpdateRule {
 public:
  Sgd(const SgdOptions& options, const TensorsByName& parameters)
      : UpdateRule(parameters), options_(options) {
    if (options_.momentum > 0) momenta_ = AddState("momentum");
  }

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    at::_fused_sgd_(parameters_, gradients, momenta_, options_.weight_decay,
                    options_.momentum, learning_rate, options_.dampening,
                    options_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/step == 1);
  }

 private:
  const SgdOptions options_;
  Tensors momenta_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const SgdConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Sgd>(
      SgdOptions{.momentum = config.momentum(),
                 .dampening = config.dampening(),
                 .nesterov = config.nesterov(),
                 .weight_decay = config.weight_decay()},
      parameters);
}

}  // namespace gandem
