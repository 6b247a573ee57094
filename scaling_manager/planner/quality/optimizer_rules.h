// SPDX-License-Identifier: Apache-2.0
//
// What a plan changes in the optimizers of a recipe, because it changes batches
// and lag (docs/optimizers.md, "Changed by the planner").
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "proto/config.pb.h"

namespace gandem {

// The rates of a recipe are those of its batches: base_batch_size becomes
// batch_size in every role that has no batch_scaling yet. Call it once on a
// recipe, before batches are changed.
void RememberBatches(RunConfig& recipe);

// Families and rates stay the recipe's. Where a batch has changed, the rate
// follows it; at a lag, beta1 becomes 0 (Adam and its kin) and optimism_rule
// LAG_MATCHED. Returns a sentence for each change, which names the rule.
std::vector<std::string> ChooseOptimizers(RunConfig& config);

}  // namespace gandem
