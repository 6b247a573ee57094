// SPDX-License-Identifier: Apache-2.0
//
// What an OptimizerConfig may say. ValidateRunConfig asks it for both roles,
// MakeOptimizer (training/optimizers) for the one that it makes.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {

// Adds every fault, its field named prefix + "family.field". A config without
// a family counts as Adam with its defaults.
void CheckOptimizer(const std::string& prefix, const OptimizerConfig& config,
                    Faults& faults);

}  // namespace gandem
