// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/lookahead.h"

#include <ATen/ops/_foreach_copy.h>

#include <utility>

#include "training/optimizers/rules/elementwise.h"

namespace gandem {
namespace {

class Lookahead : public UpdateRule {
 public:
  Lookahead(const LookaheadOptions& options, std::unique_ptr<UpdateRule> inner,
            const TensorsByName& parameters)
      : UpdateRule(parameters), options_(options), inner_(std::move(inner)) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    // Here, because parameters may be loaded after the optimizer was made.
    if (step == 1) at::_foreach_copy_(slow_, parameters_);
    inner_->Apply(gradients, learning_rate, step);
    if (step % options_.period != 0) return;
    ForEachElement(
        [rate = options_.rate](auto& p, auto& slow) {
          slow = slow + rate * (p - slow);
          p = slow;
        },
        parameters_, slow_);
  }

  TensorsByName State() const override {
    TensorsByName state = inner_->State();
    for (auto& item : UpdateRule::State()) state.push_back(std::move(item));
    return state;
  }

 private:
  const LookaheadOptions options_;
  const std::unique_ptr<UpdateRule> inner_;
  Tensors slow_ = AddState("slow");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeLookahead(const LookaheadOptions& options,
                                          std::unique_ptr<UpdateRule> inner,
                                          const TensorsByName& parameters) {
  return std::make_unique<Lookahead>(options, std::move(inner), parameters);
}

}  // namespace gandem
