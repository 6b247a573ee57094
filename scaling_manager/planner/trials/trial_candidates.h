// SPDX-License-Identifier: Apache-2.0
//
// What `gandem trials` tries: the recipe as it is, a synchronous run to compare
// with, and optimizers beside it, the most promising first.
//
// Thread safety: pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "proto/plan.pb.h"

namespace gandem {

// `recipe` with what a trial sets.
//   INVALID_ARGUMENT  the result is no valid config; names the trial.
absl::StatusOr<RunConfig> ConfigOf(const Trial& trial, const RunConfig& recipe);

// Adds at most `count` trials to `trials`, the recipe itself and the reference
// included, none that is the same run as another. Fewer where the recipe's
// optimizers have no more to change.
void AddTrials(const RunConfig& recipe, int count, Trials& trials);

}  // namespace gandem
