// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/make_optimizer.h"

#include <utility>

#include "common/config/optimizer_validate.h"
#include "common/faults.h"
#include "training/optimizers/learning_rate.h"
#include "training/optimizers/lookahead.h"
#include "training/optimizers/optimistic.h"
#include "training/optimizers/rules/adabelief.h"
#include "training/optimizers/rules/adafactor.h"
#include "training/optimizers/rules/adam.h"
#include "training/optimizers/rules/lamb.h"
#include "training/optimizers/rules/lars.h"
#include "training/optimizers/rules/lion.h"
#include "training/optimizers/rules/radam.h"
#include "training/optimizers/rules/rmsprop.h"
#include "training/optimizers/rules/sgd.h"

namespace gandem {
namespace {

AdamOptions ToOptions(const AdamConfig& config) {
  return {.beta1 = config.beta1(),
          .beta2 = config.beta2(),
          .eps = config.eps(),
          .weight_decay = config.weight_decay()};
}

AdamOptions ToOptions(const AdamwConfig& config) {
  return {.beta1 = config.beta1(),
          .beta2 = config.beta2(),
          .eps = config.eps(),
          .weight_decay = config.weight_decay(),
          .decoupled_weight_decay = true};
}

SgdOptions ToOptions(const SgdConfig& config) {
  return {.momentum = config.momentum(),
          .dampening = config.dampening(),
          .nesterov = config.nesterov(),
          .weight_decay = config.weight_decay()};
}

RmspropOptions ToOptions(const RmspropConfig& config) {
  return {.alpha = config.alpha(),
          .momentum = config.momentum(),
          .centered = config.centered(),
          .eps = config.eps(),
          .eps_root = config.eps_root(),
          .weight_decay = config.weight_decay()};
}

AdaBeliefOptions ToOptions(const AdabeliefConfig& config) {
  return {.beta1 = config.beta1(),
          .beta2 = config.beta2(),
          .eps = config.eps(),
          .eps_root = config.eps_root(),
          .bias_correction = config.bias_correction(),
          .weight_decay = config.weight_decay(),
          .decoupled_weight_decay = config.decoupled_weight_decay()};
}

RadamOptions ToOptions(const RadamConfig& config) {
  return {.beta1 = config.beta1(),
          .beta2 = config.beta2(),
          .eps = config.eps(),
          .weight_decay = config.weight_decay(),
          .decoupled_weight_decay = config.decoupled_weight_decay()};
}

LarsOptions ToOptions(const LarsConfig& config) {
  return {.momentum = config.momentum(),
          .trust = config.trust(),
          .weight_decay = config.weight_decay(),
          .skip_vectors = config.skip_vectors()};
}

LambOptions ToOptions(const LambConfig& config) {
  return {.beta1 = config.beta1(),
          .beta2 = config.beta2(),
          .eps = config.eps(),
          .bias_correction = config.bias_correction(),
          .weight_decay = config.weight_decay(),
          .skip_vectors = config.skip_vectors()};
}

AdafactorOptions ToOptions(const AdafactorConfig& config) {
  return {.decay_exponent = config.decay_exponent(),
          .beta1 = config.beta1(),
          .eps_square = config.eps_square(),
          .eps_scale = config.eps_scale(),
          .clip_threshold = config.clip_threshold(),
          .relative_step = config.relative_step(),
          .scale_by_parameter = config.scale_by_parameter(),
          .weight_decay = config.weight_decay()};
}

LionOptions ToOptions(const LionConfig& config) {
  return {.beta1 = config.beta1(),
          .beta2 = config.beta2(),
          .weight_decay = config.weight_decay()};
}

struct Family {
  std::unique_ptr<UpdateRule> rule;
  double learning_rate = 0;
};

Family MakeFamily(const OptimizerConfig& config,
                  const TensorsByName& parameters) {
  const auto family = [&](const auto& make, const auto& chosen) {
    return Family{make(ToOptions(chosen), parameters), chosen.learning_rate()};
  };
  switch (config.family_case()) {
    case OptimizerConfig::kAdam:
    case OptimizerConfig::FAMILY_NOT_SET:
      break;
    case OptimizerConfig::kAdamw:
      return family(MakeAdam, config.adamw());
    case OptimizerConfig::kSgd:
      return family(MakeSgd, config.sgd());
    case OptimizerConfig::kRmsprop:
      return family(MakeRmsprop, config.rmsprop());
    case OptimizerConfig::kAdabelief:
      return family(MakeAdaBelief, config.adabelief());
    case OptimizerConfig::kRadam:
      return family(MakeRadam, config.radam());
    case OptimizerConfig::kLars:
      return family(MakeLars, config.lars());
    case OptimizerConfig::kLamb:
      return family(MakeLamb, config.lamb());
    case OptimizerConfig::kAdafactor:
      return family(MakeAdafactor, config.adafactor());
    case OptimizerConfig::kLion:
      return family(MakeLion, config.lion());
  }
  return family(MakeAdam, config.adam());
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
