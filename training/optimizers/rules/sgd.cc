// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/sgd.h"

#include <ATen/ops/_fused_sgd.h>

namespace gandem {
namespace {

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

std::unique_ptr<UpdateRule> MakeSgd(const SgdOptions& options,
                                    const TensorsByName& parameters) {
  return std::make_unique<Sgd>(options, parameters);
}

}  // namespace gandem
