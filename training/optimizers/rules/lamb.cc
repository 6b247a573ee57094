// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/lamb.h"

#include <ATen/ops/empty_like.h>

#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/moments.h"
#include "training/optimizers/rules/tensor_norms.h"

namespace gandem {
namespace {

class Lamb : public UpdateRule {
 public:
  Lamb(const LambOptions& options, const TensorsByName& parameters)
      : UpdateRule(parameters), options_(options) {
    for (const at::Tensor& parameter : parameters_) {
      directions_.push_back(at::empty_like(parameter.detach()));
    }
  }

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
    return options_.skip_vectors && parameters_[i].dim() <= 1;
  }

  void SetDirection(size_t i, const at::Tensor& gradient, int64_t step) {
    const LambOptions& o = options_;
    const double decay = Skipped(i) ? 0 : o.weight_decay;
    const double scale1 = o.bias_correction ? Unbias(o.beta1, step) : 1;
    const double scale2 =
        std::sqrt(o.bias_correction ? Unbias(o.beta2, step) : 1);
    ForEachElement(
        [=](auto& r, auto& m, auto& v, auto p, auto g) {
          m = o.beta1 * m + (1 - o.beta1) * g;
          v = o.beta2 * v + (1 - o.beta2) * (g * g);
          r = scale1 * m / (scale2 * Sqrt(v) + o.eps) + decay * p;
        },
        directions_[i], exp_avgs_[i], exp_avg_sqs_[i],
        std::as_const(parameters_[i]), gradient);
  }

  const LambOptions options_;
  Tensors exp_avgs_ = AddState("exp_avg");
  Tensors exp_avg_sqs_ = AddState("exp_avg_sq");
  Tensors directions_;  // r_t
};

}  // namespace

std::unique_ptr<UpdateRule> MakeLamb(const LambOptions& options,
                                     const TensorsByName& parameters) {
  return std::make_unique<Lamb>(options, parameters);
}

}  // namespace gandem
