// SPDX-License-Identifier: Apache-2.0
//
// Loads the recipe of a command line: its file with --data and --set applied.
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
  std::string text = {};               // the file's text, may be empty
  RunConfig config = {};               // used if `text` is empty
  std::string data = {};               // --data; empty: the recipe's images
  std::vector<std::string> sets = {};  // --set "path.to.field=value"
};

// Reads the text of a recipe or plan. NOT_FOUND suggests a recipe of gandem's
// if `path` is a bare name.
absl::StatusOr<std::string> ReadRecipe(const std::string& path);

struct SeenRecipe {
  RunConfig config;  // valid; fields that were not given are unset
  SeenDataset data;  // empty text: this machine has no data.source
};

// Checks the recipe, inspects its images and checks it again, because a network
// may not fit these images. `elsewhere`: the images may be on other machines; a
// source missing here counts as color unless data.channels is set.
// Errors name the place in the text.
absl::StatusOr<SeenRecipe> SeeRecipe(const RecipeSource& source,
                                     bool elsewhere);
// For profiling and planning, which need only the images' shape: the recipe's
// images may be on other machines, the images of --data may not.
absl::StatusOr<SeenRecipe> SeeRecipe(const std::string& path,
                                     const std::string& data,
                                     const std::vector<std::string>& sets);

}  // namespace gandem
