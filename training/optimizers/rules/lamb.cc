// SPDX-License-Identifier: Apache-2.0
//
// LAMB (You et al. 2020, algorithm 2): Adam whose steps are scaled per tensor
// by the norm of the parameter.
//   r_t = m^_t / (sqrt(v^_t) + eps) + weight_decay * w
//   step = learning rate * ||w|| / ||r_t|| * r_t
// A tensor or a step of zeros has the ratio 1.
//
// State: "exp_avg.<parameter>", "exp_avg_sq.<parameter>".
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"
#include "training/optimizers/rules/moments.h"

namespace gandem {
namespace {

class Lamb : public UpdateRule {
 public:
  Lamb(const LambConfig& config, const TensorsByName& parameters)
      : UpdateRule(parameters), config_(config) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      SetDirection(i, gradients[i], step);
    }
    const std::vector<double> weight_norms = Norms(parameters_);
    const std::vector<double> direction_norms = Norms(directions_);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const bool scaled =
          !Skipped(i) && weight_norms[i] > 0 && direction_norms[i] > 0;
      const double rate =
          learning_rate * (scaled ? weight_norms[i] / direction_norms[i] : 1);
      ForEachElement([=](auto& p, auto r) { p = p - rate * r; }, parameters_[i],
                     std::as_const(directions_[i]));
    }
  }

 private:
  bool Skipped(size_t i) const {
    return config_.skip_vectors() && parameters_[i].dim() <= 1;
  }

  void SetDirection(size_t i, const at::Tensor& gradient, int64_t step) {
    const double beta1 = config_.beta1();
    const double beta2 = config_.beta2();
    const double eps = config_.eps();
    const double decay = Skipped(i) ? 0 : config_.weight_decay();
    const double scale1 = config_.bias_correction() ? Unbias(beta1, step) : 1;
    const double scale2 =
        std::sqrt(config_.bias_correction() ? Unbias(beta2, step) : 1);
    ForEachElement(
        [=](auto& r, auto& m, auto& v, auto p, auto g) {
          m = beta1 * m + (1 - beta1) * g;
          v = beta2 * v + (1 - beta2) * (g * g);
          r = scale1 * m / (scale2 * Sqrt(v) + eps) + decay * p;
        },
        directions_[i], exp_avgs_[i], exp_avg_sqs_[i],
        std::as_const(parameters_[i]), gradient);
  }

  const LambConfig config_;
  Tensors exp_avgs_ = AddState("exp_avg");
  Tensors exp_avg_sqs_ = AddState("exp_avg_sq");
  Tensors directions_ = EmptyLikeParameters();  // r_t
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const LambConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Lamb>(config, parameters);
}

}  // namespace gandem
