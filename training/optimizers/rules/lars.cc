// SPDX-License-Identifier: Apache-2.0
//
// LARS (You et al. 2017, algorithm 1): SGD with momentum and, per tensor,
//   ratio = trust * ||w|| / (||g|| + weight_decay * ||w||)
//   v_t = momentum * v_{t-1} + learning rate * ratio * (g_t + weight_decay * w)
// A tensor or gradient of zeros has the ratio 1.
//
// State: "momentum.<parameter>".
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"

namespace gandem {
namespace {

class Lars : public UpdateRule {
 public:
  Lars(const LarsConfig& config, const TensorsByName& parameters)
      : UpdateRule(parameters), config_(config) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t /*step*/) override {
    const double momentum = config_.momentum();
    const std::vector<double> weight_norms = Norms(parameters_);
    const std::vector<double> gradient_norms = Norms(gradients);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const bool skip = config_.skip_vectors() && parameters_[i].dim() <= 1;
      const double decay = skip ? 0 : config_.weight_decay();
      const double w = weight_norms[i];
      const double g = gradient_norms[i];
      const bool scaled = !skip && w > 0 && g > 0;
      const double rate =
          learning_rate * (scaled ? config_.trust() * w / (g + decay * w) : 1);
      ForEachElement(
          [=](auto& p, auto& v, auto g) {
            v = momentum * v + rate * (g + decay * p);
            p = p - v;
          },
          parameters_[i], momenta_[i], gradients[i]);
    }
  }

 private:
  const LarsConfig config_;
  Tensors momenta_ = AddState("momentum");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const LarsConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Lars>(config, parameters);
}

}  // namespace gandem
