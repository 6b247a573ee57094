// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/lion.h"

#include "training/optimizers/rules/elementwise.h"

namespace gandem {
namespace {

class Lion : public UpdateRule {
 public:
  Lion(const LionOptions& options, const TensorsByName& parameters)
      : UpdateRule(parameters), options_(options) {}

  void Apply(const Tensors& gradients, double rate, int64_t /*step*/) override {
    const LionOptions& o = options_;
    ForEachElement(
        [=](auto& p, auto& m, auto g) {
          const auto direction = Sign(o.beta1 * m + (1 - o.beta1) * g);
          p = p - rate * (direction + o.weight_decay * p);
          m = o.beta2 * m + (1 - o.beta2) * g;
        },
        parameters_, exp_avgs_, gradients);
  }

 private:
  const LionOptions options_;
  Tensors exp_avgs_ = AddState("exp_avg");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeLion(const LionOptions& options,
                                     const TensorsByName& parameters) {
  return std::make_unique<Lion>(options, parameters);
}

}  // namespace gandem
