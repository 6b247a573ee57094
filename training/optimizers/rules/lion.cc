// SPDX-License-Identifier: Apache-2.0
//
// Lion (Chen et al. 2023, algorithm 2): the step is learning rate * (sign(beta1
// * m + (1 - beta1) * g) + weight_decay * parameter), then m = beta2 * m + (1 -
// beta2) * g. Every element moves by the learning rate, so the rate must be 3
// to 10 times smaller than Adam's.
//
// State: "exp_avg.<parameter>".
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"

namespace gandem {
namespace {

class Lion : public UpdateRule {
 public:
  Lion(const LionConfig& config, const TensorsByName& parameters)
      : UpdateRule(parameters), config_(config) {}

  void Apply(const Tensors& gradients, double rate, int64_t /*step*/) override {
    const double beta1 = config_.beta1();
    const double weight_decay = config_.weight_decay();
    const double beta2 = config_.beta2();
    ForEachElement(
        [=](auto& p, auto& m, auto g) {
          const auto direction = Sign(beta1 * m + (1 - beta1) * g);
          p = p - rate * (direction + weight_decay * p);
          m = beta2 * m + (1 - beta2) * g;
        },
        parameters_, exp_avgs_, gradients);
  }

 private:
  const LionConfig config_;
  Tensors exp_avgs_ = AddState("exp_avg");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const LionConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Lion>(config, parameters);
}

}  // namespace gandem
