// SPDX-License-Identifier: Apache-2.0
//
// AdaBelief (Zhuang et al. 2020, algorithm 2): Adam with the second moment of
// the gradient's deviation from its mean m. Gradients near m make large steps.
//   s_t = beta2 * s_{t-1} + (1 - beta2) * (g_t - m_t)^2 + eps_root
//   step = learning rate * m^_t / (sqrt(s^_t) + eps)
// The rectified variant, the default of the authors' package, is RAdam's step
// with s_t as the second moment.
//
// State: "exp_avg.<parameter>", "exp_avg_var.<parameter>".
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"
#include "training/optimizers/rules/moments.h"

namespace gandem {
namespace {

class AdaBelief : public UpdateRule {
 public:
  AdaBelief(const AdabeliefConfig& config, const TensorsByName& parameters)
      : UpdateRule(parameters), config_(config) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    const double beta1 = config_.beta1();
    const double beta2 = config_.beta2();
    const double eps_root = config_.eps_root();
    const double eps = config_.eps();
    const WeightDecay decay(config_.weight_decay(),
                            config_.decoupled_weight_decay(), learning_rate);
    // Correct the bias of constants instead of every element.
    const double plain_rate =
        learning_rate * (config_.bias_correction() ? Unbias(beta1, step) : 1);
    const double root =
        std::sqrt(config_.bias_correction() ? Unbias(beta2, step) : 1);
    const double rectification =
        config_.rectify() ? Rectification(beta2, step) : 1;
    // RAdam adds eps to the uncorrected root.
    const double rate =
        config_.rectify() ? plain_rate * rectification / root : plain_rate;
    const double scale = config_.rectify() ? 1 : root;
    const auto advance = [=](auto p, auto& m, auto& s, auto g) {
      g = g + decay.l2 * p;
      m = beta1 * m + (1 - beta1) * g;
      const auto surprise = g - m;
      s = beta2 * s + (1 - beta2) * (surprise * surprise) + eps_root;
    };
    if (rectification == 0) {
      ForEachElement(
          [=](auto& p, auto& m, auto& s, auto g) {
            advance(p, m, s, g);
            p = decay.keep * p - plain_rate * m;
          },
          parameters_, exp_avgs_, exp_avg_vars_, gradients);
    } else {
      ForEachElement(
          [=](auto& p, auto& m, auto& s, auto g) {
            advance(p, m, s, g);
            p = decay.keep * p - rate * m / (scale * Sqrt(s) + eps);
          },
          parameters_, exp_avgs_, exp_avg_vars_, gradients);
    }
  }

 private:
  const AdabeliefConfig config_;
  Tensors exp_avgs_ = AddState("exp_avg");
  Tensors exp_avg_vars_ = AddState("exp_avg_var");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const AdabeliefConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<AdaBelief>(config, parameters);
}

}  // namespace gandem
