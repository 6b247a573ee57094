// SPDX-License-Identifier: Apache-2.0
#include "evaluation/commands/models_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "common/status.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

absl::StatusOr<std::string> ModelsText(const ModelsFlags& flags) {
  std::string text;
  GANDEM_RETURN_IF_ERROR(
      ListModels(flags, [&text](const std::string& more) { text += more; }));
  return text;
}

// The list takes minutes, so it must not be silent until its end.
TEST(ModelsCommandTest, PrintsEachNetworkWhenItIsKnown) {
  std::vector<std::string> pieces;
  ASSERT_OK(ListModels({.name = "dcgan"}, [&](const std::string& piece) {
    pieces.push_back(piece);
  }));
  EXPECT_THAT(pieces, ElementsAre(StartsWith("family "), HasSubstr("32x32x3"),
                                  HasSubstr("64x64x3")));
}

TEST(ModelsCommandTest, OneFamilyInOneSize) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ModelsText({.name = "dcgan", .image_size = 64}));
  EXPECT_EQ(text,
            "family           image  network           parameters    buffers  "
            "GFLOP/image   activations\n"
            "dcgan          64x64x3  generator          3,576,704      1,924   "
            "    0.2093      0.98 MiB\n"
            "                        discriminator      2,765,568      1,795   "
            "    0.2076      0.69 MiB\n");
}

TEST(ModelsCommandTest, EveryFamilyIsListedInItsSizes) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ModelsText({.image_size = 64, .channels = 1}));
  EXPECT_THAT(text, AllOf(HasSubstr("\nmlp "), HasSubstr("\ndcgan "),
                          HasSubstr("\nkeras_dcgan "), HasSubstr("64x64x1"),
                          Not(HasSubstr("\nsndcgan "))));
  ASSERT_OK_AND_ASSIGN(const std::string sizes, ModelsText({.name = "dcgan"}));
  EXPECT_THAT(sizes, AllOf(HasSubstr("32x32x3"), HasSubstr("64x64x3")));
}

TEST(ModelsCommandTest, SummaryHasOneRowALayer) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ModelsText({.name = "dcgan",
                                   .summary = true,
                                   .sets = {"width=2", "noise_dim=5"},
                                   .image_size = 32}));
  EXPECT_THAT(text, HasSubstr("generator  layer                    output   "
                              "parameters    buffers  GFLOP/image\n"
                              "main.0     conv_transpose2d          8x4x4      "
                              "    640          0       0.0000\n"
                              "main.1     batch_norm                8x4x4      "
                              "     16         17       0.0000\n"));
  EXPECT_THAT(text, HasSubstr("\ndiscriminator  layer"));
}

TEST(ModelsCommandTest, ARecipeHasTheCountsOfItsFamilies) {
  const TempDir folder;
  const std::string recipe = folder / "mixed.textproto";
  ASSERT_OK(WriteFile(recipe,
                      "rounds: 1 data { image_size: 32 channels: 3 }"
                      "generator { network { dcgan { width: 4 } } }"
                      "discriminator { network { mlp { hidden: 8 } } }"));
  ASSERT_OK_AND_ASSIGN(
      const std::string text,
      ModelsText(
          {.name = recipe, .sets = {"generator.network.dcgan.width=2"}}));
  const auto row_of = [](const std::string& table, size_t number) {
    const std::vector<std::string> rows = absl::StrSplit(table, '\n');
    return rows.at(number).substr(rows.at(number).find("or  "));
  };
  ASSERT_OK_AND_ASSIGN(
      const std::string dcgan,
      ModelsText({.name = "dcgan", .sets = {"width=2"}, .image_size = 32}));
  ASSERT_OK_AND_ASSIGN(
      const std::string mlp,
      ModelsText({.name = "mlp", .sets = {"hidden=[8]"}, .image_size = 32}));
  EXPECT_THAT(text, HasSubstr("\ndcgan          32x32x3  generator "));
  EXPECT_THAT(text, HasSubstr("\nmlp                     discriminator "));
  EXPECT_EQ(row_of(text, 1), row_of(dcgan, 1));
  EXPECT_EQ(row_of(text, 2), row_of(mlp, 2));
  EXPECT_THAT(ModelsText({.name = recipe, .image_size = 64}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--set data.image_size=64")));
  EXPECT_THAT(ModelsText({.name = folder / "none.textproto"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST(ModelsCommandTest, ErrorsHelp) {
  EXPECT_THAT(ModelsText({.name = "dcgann"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("did you mean 'dcgan' or 'dcgan5'?")));
  EXPECT_THAT(ModelsText({.name = "dcgan", .image_size = 48}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("images of 32 x 32 or 64 x 64")));
  EXPECT_THAT(ModelsText({.name = "dcgan", .sets = {"widht=3"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("did you mean 'width'?")));
  EXPECT_THAT(ModelsText({.summary = true}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--summary and --set need the NAME")));
}

}  // namespace
}  // namespace gandem
