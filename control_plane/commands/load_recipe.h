// SPDX-License-Identifier: Apache-2.0
//
// Loads a recipe file and applies --data and --set.
//
// Thread safety: any thread. Errors: those of files and configs, by field.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/run_config.h"
#include "control_plane/commands/run_dataset.h"
#include "proto/config.pb.h"

namespace gandem {

struct RecipeSource {
  std::string name = {};               // path, for messages
  std::string text = {};               // contents of the file; may be empty
  RunConfig config = {};               // used if `text` is empty
  std::string data = {};               // --data; empty: as in the recipe
  std::vector<std::string> sets = {};  // --set "path.to.field=value"
};

// Reads a recipe or plan. NOT_FOUND suggests a path for a bare name.
absl::StatusOr<std::string> ReadRecipe(const std::string& path);

struct SeenRecipe {
  RunConfig config;  // valid; fields that were not given are unset
  SeenDataset data;  // empty text: data.source is not on this machine
  std::vector<std::string> replaced = {};  // sentences about --set
};

// Checks the recipe, inspects its images, and checks that the networks fit
// them. `elsewhere`: the images may be on other machines; a source missing here
// counts as color unless data.channels is set. Errors name the place.
absl::StatusOr<SeenRecipe> SeeRecipe(const RecipeSource& source,
                                     bool elsewhere);
// Loads a recipe for profiling and planning, which need only the images' shape.
// The images of --data must be on this machine, the recipe's need not.
absl::StatusOr<SeenRecipe> SeeRecipe(const std::string& path,
                                     const std::string& data,
                                     const std::vector<std::string>& sets);

}  // namespace gandem
