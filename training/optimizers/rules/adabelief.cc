// SPDX-License-Identifier: Apache-2.0
//
// AdaBelief (Zhuang et al. 2020, algorithm 2): Adam whose second moment is that
// of the gradient's deviation from its mean m, so that a gradient that is as
// expected makes a large step.
//   s_t = beta2 * s_{t-1} + (1 - beta2) * (g_t - m_t)^2 + eps_root
//   step = learning rate * m^_t / (sqrt(s^_t) + eps)
//
// State: "exp_avg.<parameter>", "exp_avg_var.<parameter>".
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"
#include "training/optimizers/rules/moments.h"

namespace gandem {
namespace {

struct AdaBeliefOptions {
  double beta1 = 0;  // above 0: see config.proto
  double beta2 = 0;
  double eps = 0;                // added to the root
  double eps_root = 0;           // added under the root, at every step
  bool bias_correction = false;  // m^ = m / (1 - beta1^t), s^ likewise
  double weight_decay = 0;
  // Parameters shrink by learning rate * weight_decay; otherwise weight_decay *
  // parameter is added to the gradient (L2).
  bool decoupled_weight_decay = false;
};

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

std::unique_ptr<UpdateRule> MakeRule(const AdabeliefConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<AdaBelief>(
      AdaBeliefOptions{
          .beta1 = config.beta1(),
          .beta2 = config.beta2(),
          .eps = config.eps(),
          .eps_root = config.eps_root(),
          .bias_correction = config.bias_correction(),
          .weight_decay = config.weight_decay(),
          .decoupled_weight_decay = config.decoupled_weight_decay()},
      parameters);
}

}  // namespace gandem
