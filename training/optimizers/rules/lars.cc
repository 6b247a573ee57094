// SPDX-License-Identifier: Apache-2.0
//
// LARS (You et al. 2017, algorithm 1): SGD with momentum whose steps are scaled
// per tensor by
//   ratio = trust * ||w|| / (||g|| + weight_decay * ||w||)
//   v_t = momentum * v_{t-1} + learning rate * ratio * (g_t + weight_decay * w)
// A tensor or gradient of zeros has the ratio 1.
//
// State: "momentum.<parameter>".
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"
#include "training/optimizers/rules/tensor_norms.h"

namespace gandem {
namespace {

struct LarsOptions {
  double momentum = 0;
  double trust = 0;
  double weight_decay = 0;  // L2
  // Parameters of at most one dimension (biases, normalization) get ratio 1 and
  // no weight decay.
  bool skip_vectors = false;
};

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

std::unique_ptr<UpdateRule> MakeRule(const LarsConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Lars>(
      LarsOptions{.momentum = config.momentum(),
                  .trust = config.trust(),
                  .weight_decay = config.weight_decay(),
                  .skip_vectors = config.skip_vectors()},
      parameters);
}

}  // namespace gandem
