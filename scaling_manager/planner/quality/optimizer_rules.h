// SPDX-License-Identifier: Apache-2.0
//
// Optimizers of both roles by a stated table: which published setting fits the
// loss, the normalization and the batch of a config, how rates follow the
// batch, and what a lag asks for (docs/optimizers.md, "Chosen by the planner",
// has the table with its sources).
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace gandem {

// A published setting: Adam in both roles.
struct OptimizerRow {
  absl::string_view name;    // "hinge, spectral norm"
  absl::string_view source;  // paper or reference implementation
  double generator_rate = 0;
  double discriminator_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  int64_t batch_size = 0;  // at which the rates were found
};

// The row of a config: the first of the table that fits.
const OptimizerRow& OptimizerRowOf(const RunConfig& config);

// The rates of a recipe are those of its batches: base_batch_size becomes
// batch_size in every role that has no batch_scaling yet. Call it once on a
// recipe, before batches are changed.
void RememberBatches(RunConfig& recipe);

// Sets both optimizers for the config's loss, normalization, batches and lag. A
// role that has a family keeps it with its rates: they were chosen for its
// networks; one without gets the table's. Both get the rule by which the rate
// follows the batch, and at a lag beta1 0 (Adam and its kin) and optimism_rule
// LAG_MATCHED. Returns a sentence for each choice, which names the rule.
std::vector<std::string> ChooseOptimizers(RunConfig& config);

}  // namespace gandem
