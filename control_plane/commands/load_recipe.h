// SPDX-License-Identifier: Apache-2.0
//
// A recipe as a command gets it: the file, --data and --set.
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
  std::string name = {};               // in messages: its path
  std::string text = {};               // what somebody has written; or empty
  RunConfig config = {};               // in place of an empty text
  std::string data = {};               // --data; empty: the recipe's images
  std::vector<std::string> sets = {};  // --set "path.to.field=value"
};

// The text of a recipe or plan. NOT_FOUND of a name alone says which recipe of
// gandem's has it.
absl::StatusOr<std::string> ReadRecipe(const std::string& path);

struct SeenRecipe {
  RunConfig config;  // valid; what nobody gave is not set
  SeenDataset data;  // its text is empty: there is no data.source here
};

// Checks the recipe, looks at its images and checks it again with what was
// found, as networks may not be for these images. `elsewhere`: the images may
// be on other machines; a source that is not here is taken for color where
// data.channels is not set.
// Errors name the place in the text.
absl::StatusOr<SeenRecipe> SeeRecipe(const RecipeSource& source,
                                     bool elsewhere);
// For measuring and planning, which need the images' shape alone: those of the
// recipe may be elsewhere, those of --data may not.
absl::StatusOr<SeenRecipe> SeeRecipe(const std::string& path,
                                     const std::string& data,
                                     const std::vector<std::string>& sets);

}  // namespace gandem
