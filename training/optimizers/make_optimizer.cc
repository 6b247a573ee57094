// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/make_optimizer.h"

#include <map>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/config/parameter_patterns.h"
#include "training/optimizers/learning_rate.h"
#include "training/optimizers/rules/families.h"
#include "training/optimizers/rules_around.h"

namespace gandem {
namespace {

std::unique_ptr<UpdateRule> MakeFamily(const OptimizerConfig& config,
                                       const TensorsByName& parameters) {
#define GANDEM_MAKE_RULE(Config, field) \
  if (config.has_##field()) return MakeRule(config.field(), parameters);
  GANDEM_OPTIMIZERS(GANDEM_MAKE_RULE)
#undef GANDEM_MAKE_RULE
  return MakeRule(config.adam(), parameters);
}

double LearningRateOf(const OptimizerConfig& config) {
#define GANDEM_LEARNING_RATE(Config, field) \
  if (config.has_##field()) return config.field().learning_rate();
  GANDEM_OPTIMIZERS(GANDEM_LEARNING_RATE)
#undef GANDEM_LEARNING_RATE
  return config.adam().learning_rate();
}

// Makes the family's rule, wrapped in optimism and Lookahead if configured.
std::unique_ptr<UpdateRule> MakeWholeRule(const OptimizerConfig& config,
                                          const TensorsByName& parameters) {
  std::unique_ptr<UpdateRule> rule = MakeFamily(config, parameters);
  if (config.optimism() > 0) {
    rule = MakeOptimistic(config.optimism(), std::move(rule), parameters);
  }
  if (config.lookahead().period() > 0) {
    rule = MakeLookahead(config.lookahead(), std::move(rule), parameters);
  }
  return rule;
}

// Makes one group of all parameters with equal rate factors.
std::unique_ptr<UpdateRule> MakeRuleOfGroups(const OptimizerConfig& config,
                                             const TensorsByName& parameters) {
  std::map<double, std::vector<size_t>> by_factor;
  for (size_t i = 0; i < parameters.size(); ++i) {
    by_factor[RateFactorOf(config, parameters[i].first)].push_back(i);
  }
  if (by_factor.size() == 1 && by_factor.begin()->first == 1) {
    return MakeWholeRule(config, parameters);
  }
  std::vector<RateGroup> groups;
  for (auto& [factor, members] : by_factor) {
    TensorsByName own;
    for (const size_t member : members) own.push_back(parameters[member]);
    groups.push_back({.factor = factor,
                      .members = std::move(members),
                      .rule = MakeWholeRule(config, own)});
  }
  return MakeGrouped(std::move(groups));
}

}  // namespace

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerConfig& config,
                                         const TensorsByName& parameters,
                                         const OptimizerUse& use) {
  GANDEM_CHECK(config.optimism_rule() == OptimizerConfig::FIXED);
  const double rate = LearningRateOf(config) *
                      BatchFactor(config.batch_scaling(), use.batch_size,
                                  config.base_batch_size());
  return std::make_unique<Optimizer>(
      parameters, MakeRuleOfGroups(config, parameters),
      [rate, use, schedule = config.rate_schedule()](int64_t update) {
        return rate * RateFactor(schedule, use.rounds,
                                 StepOfUpdate(update, use.lazy_every) /
                                     use.steps_per_round);
      });
}

}  // namespace gandem
