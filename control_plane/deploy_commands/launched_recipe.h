// SPDX-License-Identifier: Apache-2.0
//
// The recipe, or the candidate of a plan, that a cluster trains.
//
// Thread safety: pure functions, except for reading the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "proto/plan.pb.h"

namespace gandem {

// The flags that all clusters have.
struct LaunchFlags {
  std::string recipe = {};             // or a plan: a file of either kind
  std::string data = {};               // in place of the recipe's; empty: none
  std::vector<std::string> sets = {};  // "path.to.field=value"
  int candidate = 1;                   // of a plan
  bool dry_run = false;                // print what would be sent, and end
};

struct LaunchedRecipe {
  RunConfig config = {};                    // effective
  std::string text = {};                    // of the file
  std::optional<Candidate> candidate = {};  // of a plan
  // --candidate, --data and --set, for the process that coordinates the run.
  std::vector<std::string> arguments = {};
};

// `parse` makes a config of the text of a recipe, with `flags.sets`.
//   those of files, plans and `parse`; INVALID_ARGUMENT: the plan has no such
//   candidate.
absl::StatusOr<LaunchedRecipe> ReadLaunchedRecipe(
    const LaunchFlags& flags,
    absl::FunctionRef<absl::StatusOr<RunConfig>(const std::string& text)>
        parse);

}  // namespace gandem
