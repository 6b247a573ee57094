// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules_around.h"

#include <ATen/ops/_foreach_copy.h>

#include <utility>

#include "training/optimizers/rules/elementwise.h"

namespace gandem {
namespace {

class RuleAround : public UpdateRule {
 public:
  RuleAround(std::unique_ptr<UpdateRule> inner, const TensorsByName& parameters)
      : UpdateRule(parameters), inner_(std::move(inner)) {}

  TensorsByName State() const override {
    TensorsByName state = inner_->State();
    for (auto& item : UpdateRule::State()) state.push_back(std::move(item));
    return state;
  }

 protected:
  const std::unique_ptr<UpdateRule> inner_;
};

class Optimistic : public RuleAround {
 public:
  Optimistic(double optimism, std::unique_ptr<UpdateRule> inner,
             const TensorsByName& parameters)
      : RuleAround(std::move(inner), parameters), optimism_(optimism) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    at::_foreach_copy_(before_, parameters_);
    inner_->Apply(gradients, learning_rate, step);
    ForEachElement(
        [optimism = optimism_](auto& p, auto& previous, auto before) {
          const auto update = p - before;
          p = p + optimism * (update - previous);
          previous = update;
        },
        parameters_, previous_updates_, std::as_const(before_));
  }

 private:
  const double optimism_;
  Tensors previous_updates_ = AddState("previous_update");
  Tensors before_ = EmptyLikeParameters();  // before the inner rule's update
};

class Lookahead : public RuleAround {
 public:
  Lookahead(const LookaheadConfig& config, std::unique_ptr<UpdateRule> inner,
            const TensorsByName& parameters)
      : RuleAround(std::move(inner), parameters), config_(config) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    // Not in the constructor, since parameters may be loaded later.
    if (step == 1) at::_foreach_copy_(slow_, parameters_);
    inner_->Apply(gradients, learning_rate, step);
    if (step % config_.period() != 0) return;
    ForEachElement(
        [rate = config_.rate()](auto& p, auto& slow) {
          slow = slow + rate * (p - slow);
          p = slow;
        },
        parameters_, slow_);
  }

 private:
  const LookaheadConfig config_;
  Tensors slow_ = AddState("slow");
};

class Grouped : public UpdateRule {
 public:
  explicit Grouped(std::vector<RateGroup> groups)
      : UpdateRule(TensorsByName()), groups_(std::move(groups)) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    for (const RateGroup& group : groups_) {
      Tensors own;
      for (const size_t member : group.members) {
        own.push_back(gradients[member]);
      }
      group.rule->Apply(own, group.factor * learning_rate, step);
    }
  }

  TensorsByName State() const override {
    TensorsByName state;
    for (const RateGroup& group : groups_) {
      for (auto& item : group.rule->State()) state.push_back(std::move(item));
    }
    return state;
  }

 private:
  const std::vector<RateGroup> groups_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeOptimistic(double optimism,
                                           std::unique_ptr<UpdateRule> inner,
                                           const TensorsByName& parameters) {
  return std::make_unique<Optimistic>(optimism, std::move(inner), parameters);
}

std::unique_ptr<UpdateRule> MakeLookahead(const LookaheadConfig& config,
                                          std::unique_ptr<UpdateRule> inner,
                                          const TensorsByName& parameters) {
  return std::make_unique<Lookahead>(config, std::move(inner), parameters);
}

std::unique_ptr<UpdateRule> MakeGrouped(std::vector<RateGroup> groups) {
  return std::make_unique<Grouped>(std::move(groups));
}

}  // namespace gandem
