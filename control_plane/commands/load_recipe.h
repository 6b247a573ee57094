// SPDX-License-Identifier: Apache-2.0
//
// A recipe as a command gets it: the file, --data and --set.
//
// Thread safety: any thread. Errors: those of files and configs, by field.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

struct RecipeSource {
  std::string text = {};
  std::string name = {};               // in messages: its path
  std::string data = {};               // --data; empty: the recipe's images
  std::vector<std::string> sets = {};  // --set "path.to.field=value"
  // A plan's config: nobody has seen the lines of its text.
  bool is_generated = false;
};

// The text of a recipe or plan. NOT_FOUND of a name alone says which recipe of
// gandem's has it.
absl::StatusOr<std::string> ReadRecipe(const std::string& path);

// Whether --data says how many classes a recipe that has classes gets.
bool TakesClasses(const RecipeSource& recipe);

// Valid, as far as can be said without looking at its images.
absl::StatusOr<RunConfig> ParseRecipe(const RecipeSource& source);

// Whether what `source` has become since is still valid; what is not is told
// with its place in the text.
absl::Status CheckRecipe(const RunConfig& config, const RecipeSource& source);

struct SeenRecipe {
  RunConfig config;  // not the effective one: what nobody gave is not set
  std::string data;  // a line on data.source; empty: it is none, or elsewhere
};
// For measuring and planning, which need the images' shape alone: a source of
// the recipe that is not on this machine is taken for color where
// data.channels is not set.
absl::StatusOr<SeenRecipe> SeeRecipe(const std::string& path,
                                     const std::string& data,
                                     const std::vector<std::string>& sets);

}  // namespace gandem
