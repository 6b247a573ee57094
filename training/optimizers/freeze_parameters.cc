// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/freeze_parameters.h"

#include <vector>

#include "common/status.h"
#include "training/state/module_state.h"

namespace gandem {

absl::Status FreezeParameters(const std::string& role, FreezePatterns freeze,
                              const OptimizerConfig& optimizer,
                              torch::nn::Module& network) {
  const TensorsByName parameters = ParametersOf(network);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) names.push_back(name);
  GANDEM_RETURN_IF_ERROR(CheckPatterns(role, freeze, optimizer, names));
  for (const auto& [name, parameter] : parameters) {
    if (IsFrozen(freeze, name)) parameter.set_requires_grad(false);
  }
  return absl::OkStatus();
}

}  // namespace gandem
