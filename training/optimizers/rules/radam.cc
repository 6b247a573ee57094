// SPDX-License-Identifier: Apache-2.0
//
// RAdam (Liu et al. 2020, algorithm 2) in PyTorch's form: Adam that ignores its
// second moment in the first steps, when it has seen too few gradients, and
// then applies the rectification r_t.
//
// State: "exp_avg.<parameter>", "exp_avg_sq.<parameter>".
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"
#include "training/optimizers/rules/moments.h"

namespace gandem {
namespace {

class Radam : public UpdateRule {
 public:
  Radam(const RadamConfig& config, const TensorsByName& parameters)
      : UpdateRule(parameters), config_(config) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    const double beta1 = config_.beta1();
    const double beta2 = config_.beta2();
    const double eps = config_.eps();
    const WeightDecay decay(config_.weight_decay(),
                            config_.decoupled_weight_decay(), learning_rate);
    const double rate = learning_rate * Unbias(beta1, step);
    const double adaptive_rate =
        rate * Rectification(beta2, step) / std::sqrt(Unbias(beta2, step));
    const auto advance = [=](auto p, auto& m, auto& v, auto g) {
      g = g + decay.l2 * p;
      m = beta1 * m + (1 - beta1) * g;
      v = beta2 * v + (1 - beta2) * (g * g);
    };
    if (adaptive_rate == 0) {
      ForEachElement(
          [=](auto& p, auto& m, auto& v, auto g) {
            advance(p, m, v, g);
            p = decay.keep * p - rate * m;
          },
          parameters_, exp_avgs_, exp_avg_sqs_, gradients);
    } else {
      ForEachElement(
          [=](auto& p, auto& m, auto& v, auto g) {
            advance(p, m, v, g);
            p = decay.keep * p - adaptive_rate * m / (Sqrt(v) + eps);
          },
          parameters_, exp_avgs_, exp_avg_sqs_, gradients);
    }
  }

 private:
  const RadamConfig config_;
  Tensors exp_avgs_ = AddState("exp_avg");
  Tensors exp_avg_sqs_ = AddState("exp_avg_sq");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const RadamConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Radam>(config, parameters);
}

}  // namespace gandem
