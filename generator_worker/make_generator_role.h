// SPDX-License-Identifier: Apache-2.0
//
// Builds the generator's role of a run from its plan: network, critic,
// optimizer, noise, and the state of a checkpoint.
//
// Thread safety: the compute thread. Errors: what is wrong with the config,
// the dataset, the device or the checkpoint; Torch exceptions.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "training/plan/run_plan.h"
#include "training/roles/role_parts.h"

namespace gandem {

absl::StatusOr<std::unique_ptr<TrainingRole>> MakeGeneratorRole(
    const RunPlan& plan, const RoleSetup& setup, GeneratorExchange* exchange);

}  // namespace gandem
