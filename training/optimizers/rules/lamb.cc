// SPDX-License-Identifier: Apache-2.0
//
// LAMB (You et al. 2020, algorithm 2): Adam whose steps are scaled per tensor
// by the norm of the parameter.
//   r_t = m^_t / (sqrt(v^_t) + eps) + weight_decay * w
//   step = learning rate * ||w|| / ||r_t|| * r_t
// A tensor or a step of zeros has the ratio 1.
//
// State: "exp_avg.<parameter>", "exp_avg_sq.<parameter>". One more copy of the
// parameters holds r_t.
#include <ATen/ops/empty_like.h>

#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"
#include "training/optimizers/rules/moments.h"
#include "training/optimizers/rules/tensor_norms.h"

namespace gandem {
namespace {

struct LambOptions {
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  bool bias_correction = false;  // m^ = m / (1 - beta1^t), v^ likewise
  double weight_decay = 0;
  // Parameters of at most one dimension (biases, normalization) get ratio 1 and
  // no weight decay.
  bool skip_vectors = false;
};

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

std::unique_ptr<UpdateRule> MakeRule(const LambConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Lamb>(
      LambOptions{.beta1 = config.beta1(),
                  .beta2 = config.beta2(),
                  .eps = config.eps(),
                  .bias_correction = config.bias_correction(),
                  .weight_decay = config.weight_decay(),
                  .skip_vectors = config.skip_vectors()},
      parameters);
}

}  // namespace gandem
