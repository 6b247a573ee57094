// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/load_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::NoiseImage;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::gandem::testing::WriteTree;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNetworks[] = R"(
  rounds: 5
  generator { network { mlp { hidden: 4 } } batch_size: 8 }
  discriminator { network { mlp { hidden: 4 } } batch_size: 8 })";

class LoadRecipeTest : public ::testing::Test {
 protected:
  std::string Recipe(const std::string& data) {
    const std::string path = dir_ / "recipe";
    EXPECT_OK(WriteFile(path, absl::StrCat(kNetworks, data)));
    return path;
  }
  std::string Photos() {
    WriteTree(dir_ / "photos", {{"a/1.png", PngBytes(NoiseImage(3, 9, 8, 1))},
                                {"b/2.png", PngBytes(NoiseImage(3, 8, 8, 2))}});
    return dir_ / "photos";
  }
  const TempDir dir_;
};

TEST_F(LoadRecipeTest, ARecipeNameIsReportedWithItsFile) {
  const auto before = std::filesystem::current_path();
  WriteTree(dir_ / "project", {{"recipes/mlp_smoke.textproto", ""}});
  std::filesystem::current_path(dir_ / "project");
  EXPECT_THAT(ReadRecipe("mlp_smoke"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("did you mean recipes/mlp_smoke.textproto?")));
  EXPECT_THAT(SeeRecipe("mlp_smoke.textproto", "", {}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("did you mean recipes/mlp_smoke.textproto?")));
  EXPECT_THAT(ReadRecipe("none_such"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("is a file, for example")));
  EXPECT_THAT(ReadRecipe(dir_ / "mlp_smoke"),
              StatusIs(absl::StatusCode::kNotFound, Not(HasSubstr("mean"))));
  std::filesystem::current_path(before);
}

TEST_F(LoadRecipeTest, DataAndSetsChangeTheRecipe) {
  const std::string photos = Photos();
  ASSERT_OK_AND_ASSIGN(
      const SeenRecipe seen,
      SeeRecipe(Recipe(" data { image_size: 8 }"), photos, {"rounds=7"}));
  EXPECT_EQ(seen.config.rounds(), 7);
  EXPECT_EQ(seen.config.data().source(), photos);
  EXPECT_EQ(seen.config.data().idx_images(), "");
  EXPECT_EQ(seen.config.data().channels(), 3);
  EXPECT_THAT(seen.data.text, HasSubstr("data: 2 images"));
  EXPECT_FALSE(seen.config.generator().optimizer().has_adam())
      << "what nobody gave is not set";
}

TEST_F(LoadRecipeTest, TheRecipesImagesMayBeElsewhere) {
  const std::string recipe = Recipe(absl::StrCat(
      " data { image_size: 8 source: \"", dir_.path(), "/elsewhere\" }"));
  ASSERT_OK_AND_ASSIGN(const SeenRecipe seen, SeeRecipe(recipe, "", {}));
  EXPECT_EQ(seen.data.text, "");
  EXPECT_EQ(DataShapeOf(seen.config.data()).image.channels, 3);
  // The images of --data must be on this machine.
  const auto named = SeeRecipe(recipe, dir_ / "none", {});
  EXPECT_FALSE(named.ok());
  EXPECT_THAT(std::string(named.status().message()), HasSubstr("none"));
}

TEST_F(LoadRecipeTest, ErrorsNameTheFileOrField) {
  EXPECT_THAT(
      std::string(SeeRecipe(dir_ / "no_recipe", "", {}).status().message()),
      HasSubstr("no_recipe"));
  EXPECT_THAT(std::string(SeeRecipe(Recipe(""), "", {"generator.batch_size=0"})
                              .status()
                              .message()),
              HasSubstr("batch_size"));
}

}  // namespace
}  // namespace gandem
