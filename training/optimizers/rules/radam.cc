// SPDX-License-Identifier: Apache-2.0
//
// RAdam (Liu et al. 2020, algorithm 2) in PyTorch's form: Adam that does
// without its second moment in the first steps, where too few gradients are in
// it, and then takes it in with the rectification r_t.
//
// State: "exp_avg.<parameter>", "exp_avg_sq.<parameter>".
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"
#include "training/optimizers/rules/moments.h"

namespace gandem {
namespace {

struct RadamOptions {
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;  // added to the root of the second moment, uncorrected
  double weight_decay = 0;
  // Parameters shrink by learning rate * weight_decay; otherwise weight_decay *
  // parameter is added to the gradient (L2).
  bool decoupled_weight_decay = false;
};

// r_t of algorithm 2, or 0 while the variance is intractable (rho_t <= 5, as in
// PyTorch; the paper has 4).
double Rectification(double beta2, int64_t step) {
  const double t = static_cast<double>(step);
  const double rho_inf = 2 / (1 - beta2) - 1;
  const double rho = rho_inf - 2 * t * std::pow(beta2, t) * Unbias(beta2, step);
  if (rho <= 5) return 0;
  return std::sqrt((rho - 4) * (rho - 2) * rho_inf /
                   ((rho_inf - 4) * (rho_inf - 2) * rho));
}

class Radam : public UpdateRule {
 public:
  Radam(const RadamOptions& options, const TensorsByName& parameters)
      : UpdateRule(parameters), options_(options) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    const RadamOptions& o = options_;
    const WeightDecay decay(o.weight_decay, o.decoupled_weight_decay,
                            learning_rate);
    const double rate = learning_rate * Unbias(o.beta1, step);
    const double adaptive_rate =
        rate * Rectification(o.beta2, step) / std::sqrt(Unbias(o.beta2, step));
    const auto advance = [=](auto p, auto& m, auto& v, auto g) {
      g = g + decay.l2 * p;
      m = o.beta1 * m + (1 - o.beta1) * g;
      v = o.beta2 * v + (1 - o.beta2) * (g * g);
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
            p = decay.keep * p - adaptive_rate * m / (Sqrt(v) + o.eps);
          },
          parameters_, exp_avgs_, exp_avg_sqs_, gradients);
    }
  }

 private:
  const RadamOptions options_;
  Tensors exp_avgs_ = AddState("exp_avg");
  Tensors exp_avg_sqs_ = AddState("exp_avg_sq");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const RadamConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Radam>(
      RadamOptions{.beta1 = config.beta1(),
                   .beta2 = config.beta2(),
                   .eps = config.eps(),
                   .weight_decay = config.weight_decay(),
                   .decoupled_weight_decay = config.decoupled_weight_decay()},
      parameters);
}

}  // namespace gandem
