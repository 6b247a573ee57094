// SPDX-License-Identifier: Apache-2.0
//
// Recipe, or candidate of a plan, that a cluster trains.
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

// Flags common to all kinds of clusters.
struct LaunchFlags {
  std::string recipe = {};             // file of a recipe or plan
  std::string data = {};               // images in place of the recipe's
  std::vector<std::string> sets = {};  // "path.to.field=value"
  int candidate = 1;                   // number of the plan's candidate
  bool dry_run = false;                // only print the script or manifests
};

struct LaunchedRecipe {
  RunConfig config = {};                    // effective
  std::string text = {};                    // contents of the file
  std::optional<Candidate> candidate = {};  // set if the file is a plan
  // Flags --candidate, --data and --set for the coordinating process.
  std::vector<std::string> arguments = {};
};

// Reads a recipe or plan. `parse` makes a config from the text of a recipe and
// `flags.sets`. Returns errors of files, plans and `parse`, and
//   INVALID_ARGUMENT  the plan has no such candidate
absl::StatusOr<LaunchedRecipe> ReadLaunchedRecipe(
    const LaunchFlags& flags,
    absl::FunctionRef<absl::StatusOr<RunConfig>(const std::string& text)>
        parse);

}  // namespace gandem
