// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/lars.h"

#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/tensor_norms.h"

namespace gandem {
namespace {

class Lars : public UpdateRule {
 public:
  Lars(const LarsOptions& options, const TensorsByName& parameters)
      : UpdateRule(parameters), options_(options) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t /*step*/) override {
    const double momentum = options_.momentum;
    const std::vector<double> weight_norms = Norms(parameters_);
    const std::vector<double> gradient_norms = Norms(gradients);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const bool skip = options_.skip_vectors && parameters_[i].dim() <= 1;
      const double decay = skip ? 0 : options_.weight_decay;
      const double w = weight_norms[i];
      const double g = gradient_norms[i];
      const bool scaled = !skip && w > 0 && g > 0;
      const double rate =
          learning_rate * (scaled ? options_.trust * w / (g + decay * w) : 1);
      ForEachElement(
          [=](auto& p, auto& v, auto g) {
            v = momentum * v + rate * (g + decay * p);
            p = p - v;
          },
          parameters_[i], momenta_[i], gradients[i]);
    }
  }

 private:
  const LarsOptions options_;
  Tensors momenta_ = AddState("momentum");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeLars(const LarsOptions& options,
                                     const TensorsByName& parameters) {
  return std::make_unique<Lars>(options, parameters);
}

}  // namespace gandem
