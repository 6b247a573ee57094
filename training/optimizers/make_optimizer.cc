// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/make_optimizer.h"

#include <utility>

#include "common/config/optimizer_validate.h"
#include "common/faults.h"
#include "training/optimizers/learning_rate.h"
#include "training/optimizers/lookahead.h"
#include "training/optimizers/optimistic.h"
#include "training/optimizers/rules/families.h"

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

RateSchedule ToSchedule(const RateScheduleConfig& config, int64_t rounds) {
  RateSchedule schedule{.warmup_rounds = config.warmup_rounds(),
                        .decay_from_round = config.decay_from_round(),
                        .decay_until_round = config.decay_until_round() == 0
                                                 ? rounds
                                                 : config.decay_until_round(),
                        .final_factor = config.final_factor()};
  switch (config.shape()) {
    case RateScheduleConfig::CONSTANT:
      break;
    case RateScheduleConfig::LINEAR:
      schedule.shape = RateSchedule::Shape::kLinear;
      break;
    case RateScheduleConfig::COSINE:
      schedule.shape = RateSchedule::Shape::kCosine;
      break;
  }
  return schedule;
}

BatchScaling ToScaling(BatchScalingRule rule) {
  switch (rule) {
    case BATCH_NONE:
      break;
    case BATCH_SQRT:
      return BatchScaling::kSqrt;
    case BATCH_LINEAR:
      return BatchScaling::kLinear;
  }
  return BatchScaling::kNone;
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
    family.rule = MakeLookahead({.period = config.lookahead().period(),
                                 .rate = config.lookahead().rate()},
                                std::move(family.rule), parameters);
  }
  const double rate = family.learning_rate *
                      BatchFactor(ToScaling(config.batch_scaling()),
                                  use.batch_size, config.base_batch_size());
  const RateSchedule schedule = ToSchedule(config.rate_schedule(), use.rounds);
  return std::make_unique<Optimizer>(
      parameters, std::move(family.rule),
      [rate, schedule, steps = use.steps_per_round](int64_t step) {
        return rate * schedule.Factor((step - 1) / steps);
      });
}

}  // namespace gandem
