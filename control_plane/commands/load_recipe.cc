// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/load_recipe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/locate_faults.h"
#include "common/config/run_config.h"
#include "common/config/validate_parts.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/files/text_proto.h"
#include "common/files/utf8.h"
#include "common/process/binary_folder.h"
#include "common/status.h"
#include "control_plane/commands/run_dataset.h"

namespace gandem {
namespace {

// What --data sets: the source alone names images then.
absl::StatusOr<std::vector<std::string>> DataSets(const RecipeSource& recipe) {
  std::vector<std::string> sets;
  if (recipe.data.empty()) return sets;
  if (!IsValidUtf8(recipe.data)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--data '", PrintableText(recipe.data),
        "' is not UTF-8, as the text of a config has to be: rename it, or name "
        "a link to it"));
  }
  for (const char* const field :
       {"idx_images", "idx_labels", "idx_inputs", "listing_sha256"}) {
    sets.push_back(absl::StrCat("data.", field, "=\"\""));
  }
  sets.push_back(
      absl::StrCat("data.source=\"", absl::Utf8SafeCEscape(recipe.data), "\""));
  return sets;
}

// Where recipes are: here, installed beside the programs, or in the source that
// they were built in.
std::vector<std::string> RecipeFolders() {
  std::vector<std::string> folders = {"recipes"};
  const absl::StatusOr<std::string> binaries = BinaryFolder();
  if (!binaries.ok()) return folders;
  for (const char* const way : {"/../share/gandem/recipes", "/../../recipes"}) {
    folders.push_back(AbsoluteName(*binaries + way));
  }
  return folders;
}

// What somebody means who gives a recipe's name alone.
std::string HintFor(const std::string& name) {
  for (const std::string& folder : RecipeFolders()) {
    for (const char* const ending : {"", ".textproto"}) {
      const std::string path = absl::StrCat(folder, "/", name, ending);
      if (PathExists(path)) return absl::StrCat("did you mean ", path, "?");
    }
  }
  return "a recipe is a file, as recipes/mlp_smoke.textproto is";
}

}  // namespace

absl::StatusOr<std::string> ReadRecipe(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path, kMaxTextProtoBytes);
  if (!absl::IsNotFound(text.status()) || absl::StrContains(path, '/')) {
    return text;
  }
  return absl::NotFoundError(
      absl::StrCat(text.status().message(), "; ", HintFor(path)));
}

bool TakesClasses(const RecipeSource& recipe) {
  return !recipe.data.empty() &&
         std::ranges::none_of(recipe.sets, [](const std::string& set) {
           return absl::StartsWith(set, "data.num_classes");
         });
}

absl::StatusOr<RunConfig> ParseRecipe(const RecipeSource& source) {
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> sets, DataSets(source));
  sets.insert(sets.end(), source.sets.begin(), source.sets.end());
  RunConfig config;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(source.text, source.name, config));
  GANDEM_RETURN_IF_ERROR(SetFields(sets, config));
  GANDEM_RETURN_IF_ERROR(CheckRecipe(config, source));
  return config;
}

absl::Status CheckRecipe(const RunConfig& config, const RecipeSource& source) {
  std::vector<std::string> elsewhere = source.sets;
  if (!source.data.empty()) elsewhere.push_back("data");
  return LocateFaults(FaultsOf(config), source.is_generated ? "" : source.text,
                      source.name, elsewhere, config);
}

absl::StatusOr<SeenRecipe> SeeRecipe(const std::string& path,
                                     const std::string& data,
                                     const std::vector<std::string>& sets) {
  GANDEM_ASSIGN_OR_RETURN(std::string text, ReadRecipe(path));
  const RecipeSource source = {
      .text = std::move(text), .name = path, .data = data, .sets = sets};
  SeenRecipe seen;
  GANDEM_ASSIGN_OR_RETURN(seen.config, ParseRecipe(source));
  absl::StatusOr<SeenDataset> dataset =
      LookAtSource(*seen.config.mutable_data(), TakesClasses(source));
  if (dataset.ok()) {
    seen.data = std::move(dataset->text);
  } else if (!data.empty() || !absl::IsNotFound(dataset.status())) {
    return dataset.status();
  }
  // Networks may not be for the channels that were found.
  GANDEM_RETURN_IF_ERROR(CheckRecipe(seen.config, source));
  return seen;
}

}  // namespace gandem
