// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/load_recipe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/config/locate_faults.h"
#include "common/config/network_check.h"
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

// Returns the config in source.text, or source.config if the text is empty.
absl::StatusOr<RunConfig> AsWritten(const RecipeSource& source) {
  if (source.text.empty()) return source.config;
  RunConfig config;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(source.text, source.name, config));
  return config;
}

// Returns whether data.num_classes comes from the images of --data.
bool TakesClasses(const RecipeSource& recipe) {
  return !recipe.data.empty() &&
         std::ranges::none_of(recipe.sets, [](const std::string& set) {
           return absl::StartsWith(set, "data.num_classes");
         });
}

// Makes --data the only source of images.
absl::Status UseData(const std::string& data, RunConfig& config) {
  if (!IsValidUtf8(data)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--data '", PrintableText(data),
        "' is not UTF-8, which a config requires: rename the file, or pass a "
        "link to it"));
  }
  DataConfig& images = *config.mutable_data();
  images.set_idx_images("");
  images.set_idx_labels("");
  images.set_idx_inputs("");
  images.set_listing_sha256("");
  images.set_source(data);
  return absl::OkStatus();
}

// Returns the current, the installed and the source tree's recipe folder.
std::vector<std::string> RecipeFolders() {
  std::vector<std::string> folders = {"recipes"};
  const absl::StatusOr<std::string> binaries = BinaryFolder();
  if (!binaries.ok()) return folders;
  for (const char* const way : {"/../share/gandem/recipes", "/../../recipes"}) {
    folders.push_back(AbsoluteName(*binaries + way));
  }
  return folders;
}

// Returns advice for a recipe that was given as a bare name.
std::string HintFor(const std::string& name) {
  for (const std::string& folder : RecipeFolders()) {
    for (const char* const ending : {"", ".textproto"}) {
      const std::string path = absl::StrCat(folder, "/", name, ending);
      if (PathExists(path)) return absl::StrCat("did you mean ", path, "?");
    }
  }
  return "a recipe is a file, for example recipes/mlp_smoke.textproto";
}

// Names the networks of the recipe that --set has replaced by another family.
std::vector<std::string> ReplacedNetworks(const RunConfig& recipe,
                                          const RunConfig& config) {
  std::vector<std::string> sentences;
  const auto compare = [&sentences](absl::string_view role,
                                    const NetworkConfig& before,
                                    const NetworkConfig& after) {
    const auto* const old = FamilyFieldOf(before);
    const auto* const now = FamilyFieldOf(after);
    if (old == nullptr || now == nullptr || old == now) return;
    sentences.push_back(absl::StrCat("--set replaces the recipe's ", role,
                                     " network ", old->name(), " by ",
                                     now->name()));
  };
  compare("generator", recipe.generator().network(),
          config.generator().network());
  compare("discriminator", recipe.discriminator().network(),
          config.discriminator().network());
  return sentences;
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

absl::StatusOr<SeenRecipe> SeeRecipe(const RecipeSource& source,
                                     bool elsewhere) {
  SeenRecipe seen;
  GANDEM_ASSIGN_OR_RETURN(seen.config, AsWritten(source));
  std::vector<std::string> given = source.sets;
  if (!source.data.empty()) {
    given.push_back("data");
    GANDEM_RETURN_IF_ERROR(UseData(source.data, seen.config));
  }
  const RunConfig written = seen.config;
  GANDEM_RETURN_IF_ERROR(SetFields(source.sets, seen.config));
  seen.replaced = ReplacedNetworks(written, seen.config);
  const auto check = [&] {
    return LocateFaults(FaultsOf(seen.config), source.text, source.name, given,
                        seen.config);
  };
  GANDEM_RETURN_IF_ERROR(check());
  absl::StatusOr<SeenDataset> dataset =
      LookAtSource(*seen.config.mutable_data(), TakesClasses(source));
  if (elsewhere && absl::IsNotFound(dataset.status())) dataset = SeenDataset();
  GANDEM_RETURN_IF_ERROR(dataset);
  seen.data = *std::move(dataset);
  // The dataset may have set channels and classes.
  if (seen.data.opened.has_value()) GANDEM_RETURN_IF_ERROR(check());
  return seen;
}

absl::StatusOr<SeenRecipe> SeeRecipe(const std::string& path,
                                     const std::string& data,
                                     const std::vector<std::string>& sets) {
  GANDEM_ASSIGN_OR_RETURN(std::string text, ReadRecipe(path));
  return SeeRecipe(
      {.name = path, .text = std::move(text), .data = data, .sets = sets},
      /*elsewhere=*/data.empty());
}

}  // namespace gandem
