// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/adabelief.h"

#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/moments.h"

namespace gandem {
namespace {

class AdaBelief : public UpdateRule {
 public:
  AdaBelief(const AdaBeliefOptions& options, const TensorsByName& parameters)
      : UpdateRule(parameters), options_(options) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    const AdaBeliefOptions& o = options_;
    const WeightDecay decay(o.weight_decay, o.decoupled_weight_decay,
                            learning_rate);
    // Corrections are taken to the constants, not to every number.
    const double rate =
        learning_rate * (o.bias_correction ? Unbias(o.beta1, step) : 1);
    const double scale =
        std::sqrt(o.bias_correction ? Unbias(o.beta2, step) : 1);
    ForEachElement(
        [=](auto& p, auto& m, auto& s, auto g) {
          g = g + decay.l2 * p;
          m = o.beta1 * m + (1 - o.beta1) * g;
          const auto surprise = g - m;
          s = o.beta2 * s + (1 - o.beta2) * (surprise * surprise) + o.eps_root;
          p = decay.keep * p - rate * m / (scale * Sqrt(s) + o.eps);
        },
        parameters_, exp_avgs_, exp_avg_vars_, gradients);
  }

 private:
  const AdaBeliefOptions options_;
  Tensors exp_avgs_ = AddState("exp_avg");
  Tensors exp_avg_vars_ = AddState("exp_avg_var");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeAdaBelief(const AdaBeliefOptions& options,
                                          const TensorsByName& parameters) {
  return std::make_unique<AdaBelief>(options, parameters);
}

}  // namespace gandem
