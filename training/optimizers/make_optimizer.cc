// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/make_optimizer.h"

#include <utility>

#include "common/config/optimizer_validate.h"
#include "common/faults.h"
#include "training/optimizers/learning_rate.h"
#include "training/optimizers/rules/families.h"
#include "training/optimizers/rules_around.h"

namespace gandem {
namespace {

struct Family {
  std::unique_ptr<UpdateRule> rule;
  double learning_rate = 0;
};

// Adam's, if none is set.
Family MakeFamily(const OptimizerConfig& config,
                  const TensorsByName& parameters) {
#define GANDEM_MAKE_RULE(Config, field)           \
  if (config.has_##field()) {                     \
    return {MakeRule(config.field(), parameters), \
            config.field().learning_rate()};      \
  }
  GANDEM_OPTIMIZERS(GANDEM_MAKE_RULE)
#undef GANDEM_MAKE_RULE
  return {MakeRule(config.adam(), parameters), config.adam().learning_rate()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(
    const OptimizerConfig& config, const TensorsByName& parameters,
    const OptimizerUse& use) {
  Faults faults("optimizer");
  CheckOptimizer("", config, use.rounds, faults);
  if (!faults.empty()) return faults.ToStatus();
  Family family = MakeFamily(config, parameters);
  if (config.optimism() > 0) {
    family.rule =
        MakeOptimistic(config.optimism(), std::move(family.rule), parameters);
  }
  if (config.lookahead().period() > 0) {
    family.rule =
        MakeLookahead(config.lookahead(), std::move(family.rule), parameters);
  }
  const double rate =
      family.learning_rate * BatchFactor(config.batch_scaling(), use.batch_size,
                                         config.base_batch_size());
  return std::make_unique<Optimizer>(
      parameters, std::move(family.rule),
      [rate, use, schedule = config.rate_schedule()](int64_t step) {
        return rate * RateFactor(schedule, use.rounds,
                                 (step - 1) / use.steps_per_round);
      });
}

}  // namespace gandem
