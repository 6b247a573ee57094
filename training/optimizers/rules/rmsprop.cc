// SPDX-License-Identifier: Apache-2.0
//
// RMSprop (Hinton 2012, lecture 6e) in PyTorch's form, with the variants in
// use: centered (Graves 2013: the variance in place of the mean square),
// momentum, and eps outside (PyTorch) or inside the root (TensorFlow).
//
// State: "square_avg.<parameter>", "gradient_avg.<parameter>" when centered,
// "momentum.<parameter>" with momentum.
#include "training/optimizers/rules/elementwise.h"
#include "training/optimizers/rules/families.h"

namespace gandem {
namespace {

class Rmsprop : public UpdateRule {
 public:
  Rmsprop(const RmspropConfig& config, const TensorsByName& parameters)
      : UpdateRule(parameters), config_(config) {
    if (config_.centered()) gradient_avgs_ = AddState("gradient_avg");
    if (config_.momentum() > 0) momenta_ = AddState("momentum");
  }

  void Apply(const Tensors& gradients, double rate, int64_t /*step*/) override {
    const double weight_decay = config_.weight_decay();
    const double alpha = config_.alpha();
    const double eps_root = config_.eps_root();
    const double eps = config_.eps();
    const double momentum = config_.momentum();
    // Both functions return the gradient divided by its root mean square.
    const auto plain = [=](auto p, auto& s, auto g) {
      g = g + weight_decay * p;
      s = alpha * s + (1 - alpha) * (g * g);
      return g / (Sqrt(s + eps_root) + eps);
    };
    const auto centered = [=](auto p, auto& s, auto& mean, auto g) {
      g = g + weight_decay * p;
      s = alpha * s + (1 - alpha) * (g * g);
      mean = alpha * mean + (1 - alpha) * g;
      return g / (Sqrt(s - mean * mean + eps_root) + eps);
    };
    const auto update = [&](const auto& scaled, auto&... averages) {
      if (momentum > 0) {
        ForEachElement(
            [&](auto& p, auto& v, auto&... rest) {
              v = momentum * v + scaled(p, rest...);
              p = p - rate * v;
            },
            parameters_, momenta_, averages..., gradients);
      } else {
        ForEachElement(
            [&](auto& p, auto&... rest) { p = p - rate * scaled(p, rest...); },
            parameters_, averages..., gradients);
      }
    };
    if (config_.centered()) {
      update(centered, square_avgs_, gradient_avgs_);
    } else {
      update(plain, square_avgs_);
    }
  }

 private:
  const RmspropConfig config_;
  Tensors square_avgs_ = AddState("square_avg");
  Tensors gradient_avgs_;
  Tensors momenta_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const RmspropConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Rmsprop>(config, parameters);
}

}  // namespace gandem
