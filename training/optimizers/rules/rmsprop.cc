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

struct RmspropOptions {
  double alpha = 0;  // decay of the mean square
  double momentum = 0;
  bool centered = false;
  double eps = 0;           // added to the root
  double eps_root = 0;      // added under the root
  double weight_decay = 0;  // L2
};

class Rmsprop : public UpdateRule {
 public:
  Rmsprop(const RmspropOptions& options, const TensorsByName& parameters)
      : UpdateRule(parameters), options_(options) {
    if (options_.centered) gradient_avgs_ = AddState("gradient_avg");
    if (options_.momentum > 0) momenta_ = AddState("momentum");
  }

  void Apply(const Tensors& gradients, double rate, int64_t /*step*/) override {
    const RmspropOptions& o = options_;
    // Both return the gradient divided by its root mean square.
    const auto plain = [&o](auto p, auto& s, auto g) {
      g = g + o.weight_decay * p;
      s = o.alpha * s + (1 - o.alpha) * (g * g);
      return g / (Sqrt(s + o.eps_root) + o.eps);
    };
    const auto centered = [&o](auto p, auto& s, auto& mean, auto g) {
      g = g + o.weight_decay * p;
      s = o.alpha * s + (1 - o.alpha) * (g * g);
      mean = o.alpha * mean + (1 - o.alpha) * g;
      return g / (Sqrt(s - mean * mean + o.eps_root) + o.eps);
    };
    if (o.centered && o.momentum > 0) {
      ForEachElement(
          [&](auto& p, auto& s, auto& mean, auto& v, auto g) {
            v = o.momentum * v + centered(p, s, mean, g);
            p = p - rate * v;
          },
          parameters_, square_avgs_, gradient_avgs_, momenta_, gradients);
    } else if (o.centered) {
      ForEachElement([&](auto& p, auto& s, auto& mean,
                         auto g) { p = p - rate * centered(p, s, mean, g); },
                     parameters_, square_avgs_, gradient_avgs_, gradients);
    } else if (o.momentum > 0) {
      ForEachElement(
          [&](auto& p, auto& s, auto& v, auto g) {
            v = o.momentum * v + plain(p, s, g);
            p = p - rate * v;
          },
          parameters_, square_avgs_, momenta_, gradients);
    } else {
      ForEachElement(
          [&](auto& p, auto& s, auto g) { p = p - rate * plain(p, s, g); },
          parameters_, square_avgs_, gradients);
    }
  }

 private:
  const RmspropOptions options_;
  Tensors square_avgs_ = AddState("square_avg");
  Tensors gradient_avgs_;
  Tensors momenta_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const RmspropConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Rmsprop>(
      RmspropOptions{.alpha = config.alpha(),
                     .momentum = config.momentum(),
                     .centered = config.centered(),
                     .eps = config.eps(),
                     .eps_root = config.eps_root(),
                     .weight_decay = config.weight_decay()},
      parameters);
}

}  // namespace gandem
