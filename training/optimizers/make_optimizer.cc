// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/make_optimizer.h"

#include <utility>

#include "common/faults.h"
#include "common/optimizer_validate.h"
#include "training/optimizers/adam.h"
#include "training/optimizers/optimistic.h"

namespace gandem {
namespace {

struct Family {
  std::unique_ptr<UpdateRule> rule;
  double learning_rate = 0;
};

Family MakeFamily(const OptimizerConfig& config,
                  const TensorsByName& parameters) {
  switch (config.family_case()) {
    case OptimizerConfig::kAdam:
    case OptimizerConfig::FAMILY_NOT_SET:
      break;
  }
  const AdamConfig& adam = config.adam();
  return {MakeAdam({.beta1 = adam.beta1(),
                    .beta2 = adam.beta2(),
                    .eps = adam.eps(),
                    .weight_decay = adam.weight_decay()},
                   parameters),
          adam.learning_rate()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(
    const OptimizerConfig& config, const TensorsByName& parameters) {
  Faults faults("optimizer");
  CheckOptimizer("", config, faults);
  if (!faults.empty()) return faults.ToStatus();
  Family family = MakeFamily(config, parameters);
  if (config.optimism() > 0) {
    family.rule =
        MakeOptimistic(config.optimism(), std::move(family.rule), parameters);
  }
  return std::make_unique<Optimizer>(
      parameters, std::move(family.rule),
      [rate = family.learning_rate](int64_t) { return rate; });
}

}  // namespace gandem
