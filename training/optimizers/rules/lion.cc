// SPDX-License-Identifier: Apache-2.0
//
// Lion (Chen et al. 2023, algorithm 2): the step is learning rate * (sign(beta1
// * m + (1 - beta1) * g) + weight_decay * parameter), then m = beta2 * m + (1 -
// beta2) * g. Every number moves by the learning rate, so that it has to be 3
// to 10 times smaller than Adam's.
//
// State: "exp_avg.<parameter>".
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"

namespace gandem {
namespace {

struct LionOptions {
  double beta1 = 0;
  double beta2 = 0;
  double weight_decay = 0;  // decoupled
};

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

std::unique_ptr<UpdateRule> MakeRule(const LionConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Lion>(
      LionOptions{.beta1 = config.beta1(),
                  .beta2 = config.beta2(),
                  .weight_decay = config.weight_decay()},
      parameters);
}

}  // namespace gandem
