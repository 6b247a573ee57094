// SPDX-License-Identifier: Apache-2.0
//
// Changes that a plan makes to the optimizers of a recipe because it changes
// batches and lag (docs/optimizers.md, "Changed by the planner").
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "proto/config.pb.h"

namespace gandem {

// Records that the recipe's learning rates belong to its batches:
// base_batch_size becomes batch_size in every role without batch_scaling. Call
// it once per recipe, before batches are changed.
void RememberBatches(RunConfig& recipe);

// Adapts the optimizers to the batches and the lag of `config`. The learning
// rate follows a changed batch. With a lag, beta1 becomes 0 (Adam and similar
// families) and optimism_rule LAG_MATCHED. Returns the reason of each change.
std::vector<std::string> ChooseOptimizers(RunConfig& config);

}  // namespace gandem
