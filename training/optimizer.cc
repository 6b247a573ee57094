// SPDX-License-Identifier: Apache-2.0
#include "training/optimizer.h"

#include "proto/config.pb.h"
#include "training/adam.h"

namespace gandem {

absl::StatusOr<std::unique_ptr<Optimizer>> MakeOptimizer(
    const OptimizerConfig& config, const torch::nn::Module& network) {
  switch (config.family_case()) {
    case OptimizerConfig::kAdam:
      return Adam::Create({.learning_rate = config.adam().learning_rate(),
                           .beta1 = config.adam().beta1(),
                           .beta2 = config.adam().beta2(),
                           .eps = config.adam().eps(),
                           .weight_decay = config.adam().weight_decay()},
                          network);
    case OptimizerConfig::FAMILY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("optimizer: set adam");
}

}  // namespace gandem
