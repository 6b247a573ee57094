// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/dataset_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "common/checkpoint/safetensors.h"
#include "common/files/file.h"
#include "common/process/exit_code.h"
#include "common/process/signals.h"
#include "pipeline/formats/npz.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/sources/survey.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::NamedBytes;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteTree;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DatasetCommandTest : public ::testing::Test {
 protected:
  DatasetCommandTest() {
    BlockSignals({SIGINT, SIGTERM});  // like main() for `pack`
    NamedBytes files;
    for (uint32_t i = 0; i < 5; ++i) {
      files.emplace_back(absl::StrCat(i < 2 ? "cat/" : "dog/", i, ".png"),
                         PngBytes(NoiseImage(3, 12, i == 4 ? 20 : 16, i)));
    }
    WriteTree(dir_ / "photos", files);
    options_.source = dir_ / "photos";
    options_.output = dir_ / "sheet.png";
    options_.image_size = 8;
  }

  const gandem::testing::TempDir dir_;
  DatasetOptions options_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(DatasetCommandTest, ShowDescribesStoredAndTrainingImages) {
  ASSERT_OK(ShowDataset(options_, out_, err_));
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("data: 5 images, 12 x 16 to 20, RGB, 2 classes: a folder "
                      "of images "),
            HasSubstr("stored as: PNG, RGB (5)\n"),
            HasSubstr("sizes: 12 x 16 (4); 12 x 20 (1)\n"),
            HasSubstr("classes: 2: dog (3); cat (2)\n"),
            HasSubstr("training sees: 8 x 8, RGB, crop center, kernel "
                      "bicubic\n")));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(options_.output));
  ASSERT_OK_AND_ASSIGN(const PixelImage sheet, DecodePng(bytes));
  EXPECT_EQ(sheet.channels, 3);
  EXPECT_EQ(sheet.width, 3 * 8 + 2 * 2);
}

TEST_F(DatasetCommandTest, ShowUsesTheDataSectionOfARecipe) {
  options_.recipe = dir_ / "r.textproto";
  ASSERT_OK(WriteFile(options_.recipe, R"(
    rounds: 20
    data { image_size: 16 channels: 1 fit: RESIZE crop: NONE resize: BOX
           horizontal_flip: true }
    generator { network { mlp { hidden: 8 } } }
    discriminator { network { mlp { hidden: 8 } } })"));
  ASSERT_OK(ShowDataset(options_, out_, err_));
  EXPECT_THAT(out_.str(),
              HasSubstr("training sees: 16 x 16, gray, crop none, kernel box, "
                        "mirrored at random\n"));
}

TEST_F(DatasetCommandTest, VerifyNamesEveryUnreadableImage) {
  EXPECT_EQ(*VerifyDataset(options_, out_, err_), kExitOk);
  EXPECT_EQ(out_.str(), "all 5 images can be read\n");
  const std::string png = PngBytes(NoiseImage(3, 12, 12, 9));
  WriteTree(dir_ / "photos",
            {{"dog/x.png", png.substr(0, png.size() / 2)}, {"dog/y.jpg", ""}});
  out_.str("");
  EXPECT_EQ(*VerifyDataset(options_, out_, err_), kExitUsage);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("photos/dog/x.png: damaged PNG"),
                                HasSubstr("photos/dog/y.jpg: it has no bytes"),
                                HasSubstr("2 of 7 images cannot be read\n")));
}

TEST_F(DatasetCommandTest, UnusedFilesAreCounted) {
  WriteTree(dir_ / "photos", {{"dog/x.tga", "x"}, {".y.png", "x"}});
  EXPECT_EQ(*VerifyDataset(options_, out_, err_), kExitOk);
  EXPECT_EQ(out_.str(),
            "all 5 images can be read\nnot used: .tga (1); hidden (1)\n");
  out_.str("");
  ASSERT_OK(ShowDataset(options_, out_, err_));
  EXPECT_THAT(out_.str(),
              HasSubstr("photos; not used: .tga (1); hidden (1)\nstored as:"));
  out_.str("");
  options_.output = dir_ / "packed";
  ASSERT_OK(PackDataset(options_, out_, err_));
  EXPECT_THAT(out_.str(), HasSubstr("not used: .tga (1); hidden (1)\n"));
}

TEST_F(DatasetCommandTest, VerifyChecksTheChecksumOfAnArray) {
  options_.source = dir_ / "x.npz";
  const PixelImage noise = NoiseImage(1, 16, 12, 1);  // four images of 4 x 12
  ASSERT_OK_AND_ASSIGN(NpzWriter npz, NpzWriter::Create(options_.source));
  ASSERT_OK(npz.Add(
      {.name = "arr_0",
       .dtype = DType::kU8,
       .shape = {4, 4, 12, 1},
       .bytes = SharedBytes::Copy(std::as_bytes(std::span(noise.pixels)))}));
  ASSERT_OK(npz.Finish());
  EXPECT_EQ(*VerifyDataset(options_, out_, err_), kExitOk);
  ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(options_.source));
  const std::string data(noise.pixels.begin(), noise.pixels.end());
  bytes[bytes.find(data) + 7] ^= 1;
  ASSERT_OK(WriteFile(options_.source, bytes));
  EXPECT_THAT(VerifyDataset(options_, out_, err_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("x.npz"), HasSubstr("checksum"))));
}

// The images have an unsupported format, and a name with control characters.
TEST_F(DatasetCommandTest, UnsupportedFormatsAreListedWithEscapedNames) {
  WriteTree(dir_ / "photos",
            {{"cat/a.gif", "GIF89a..."}, {"dog/\x1b[31m.png", "x"}});
  EXPECT_EQ(*VerifyDataset(options_, out_, err_), kExitUsage);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("photos/cat/a.gif: it is a GIF: convert it"),
                    HasSubstr("photos/dog/\\x1b[31m.png: it is no PNG"),
                    HasSubstr("2 of 7 images cannot be read\n")));
  EXPECT_THAT(ShowDataset(options_, out_, err_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a.gif: it is a GIF"),
                             HasSubstr("--exclude bad.txt"))));
  options_.exclude = dir_ / "bad.txt";
  EXPECT_EQ(*VerifyDataset(options_, out_, err_), kExitOk);
  // The list leaves out a larger share than training accepts; `show` warns.
  out_.str("");
  ASSERT_OK(ShowDataset(options_, out_, err_));
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("data: 5 images (2 left out), 12 x 16"),
                    HasSubstr("leaves out more than data.max_excluded, a share "
                              "of 0.001")));
}

TEST_F(DatasetCommandTest, ShowsTensors) {
  const std::vector<float> values(2 * 4 * 3 * 5, -3.5f);
  const NamedTensor latents = {
      .name = "latents",
      .dtype = DType::kF32,
      .shape = {2, 4, 3, 5},
      .bytes = SharedBytes::Copy(std::as_bytes(std::span(values)))};
  options_.source = dir_ / "a.safetensors";
  ASSERT_OK(WriteSafetensors(options_.source, std::span(&latents, 1), {}));
  ASSERT_OK(ShowDataset(options_, out_, err_));
  EXPECT_THAT(
      out_.str(),
      AllOf(HasSubstr("data: 2 tensors, 4 x 3 x 5, F32, up to 3.5, no labels: "
                      "a file of tensors "),
            HasSubstr("stored as: tensor, floating point, 32 bits (2)\n"),
            HasSubstr("training sees: 4 x 3 x 5 as they are stored, times 1")));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(options_.output));
  ASSERT_OK_AND_ASSIGN(const PixelImage sheet, DecodePng(bytes));
  EXPECT_EQ(sheet.width, 2 * 5 + 2);
  options_.output = dir_ / "packed";
  EXPECT_THAT(PackDataset(options_, out_, err_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("tensors are read as they are")));
}

TEST_F(DatasetCommandTest, ExistingFilesAreNotReplaced) {
  options_.output = dir_ / "photos/cat/0.png";
  EXPECT_THAT(ShowDataset(options_, out_, err_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("would be among the images")));
  options_.exclude = dir_ / "mine.txt";
  ASSERT_OK(WriteFile(options_.exclude, "dog/4.png\n"));
  EXPECT_THAT(VerifyDataset(options_, out_, err_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is there already")));
  EXPECT_EQ(*ReadFile(options_.exclude), "dog/4.png\n");
  options_.exclude = dir_ / "none.txt";
  EXPECT_EQ(*VerifyDataset(options_, out_, err_), kExitOk);
  EXPECT_FALSE(PathExists(options_.exclude));
}

TEST_F(DatasetCommandTest, BrokenLinksAreNamed) {
  std::filesystem::create_symlink("nowhere.png", dir_ / "photos/dangling.png");
  EXPECT_THAT(VerifyDataset(options_, out_, err_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("dangling.png")));
}

TEST_F(DatasetCommandTest, VerifyWritesAnExcludeList) {
  WriteTree(dir_ / "photos", {{"dog/y.jpg", ""}, {"cat/x.png", "<html>"}});
  options_.exclude = dir_ / "bad.txt";
  EXPECT_EQ(*VerifyDataset(options_, out_, err_), kExitOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("2 of 7 images cannot be read\n"),
                                HasSubstr("--set data.exclude="),
                                HasSubstr("more than data.max_excluded")));
  ASSERT_OK_AND_ASSIGN(const std::string list, ReadFile(options_.exclude));
  EXPECT_THAT(list, HasSubstr("# it is a web page, not an image: it was not "
                              "downloaded as it should\ncat/x.png\n"
                              "# it has no bytes\ndog/y.jpg\n"));
  // A recipe that is stored elsewhere can use the list.
  options_.recipe = dir_ / "r.textproto";
  ASSERT_OK(WriteFile(options_.recipe, R"(
    rounds: 20
    data { image_size: 8 max_excluded: 0.5 }
    generator { network { mlp { hidden: 8 } } }
    discriminator { network { mlp { hidden: 8 } } })"));
  out_.str("");
  ASSERT_OK(ShowDataset(options_, out_, err_));
  EXPECT_THAT(out_.str(), HasSubstr("data: 5 images (2 left out), 12 x 16"));
}

TEST_F(DatasetCommandTest, PackKeepsTheImages) {
  options_.output = dir_ / "packed";
  options_.shard_bytes = 1500;
  ASSERT_OK(PackDataset(options_, out_, err_));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("packed 5 images, "),
                                HasSubstr("--data " + options_.output)));
  EXPECT_EQ(*(*OpenSource(options_.output))->ContentHash(),
            *(*OpenSource(options_.source))->ContentHash());
  out_.str("");
  ASSERT_OK(PackDataset(options_, out_, err_));
  EXPECT_THAT(out_.str(), HasSubstr(" were there: "));
}

TEST_F(DatasetCommandTest, PackLeavesOutExcludedImages) {
  WriteTree(dir_ / "photos", {{"dog/y.jpg", ""}});
  options_.output = dir_ / "packed";
  options_.resize = 4;
  EXPECT_THAT(PackDataset(options_, out_, err_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("dog/y.jpg: it has no bytes"),
                             HasSubstr("gandem dataset verify"))));
  options_.exclude = dir_ / "bad.txt";
  ASSERT_OK(WriteFile(options_.exclude, "dog/y.jpg\n"));
  options_.output = dir_ / "packed2";
  ASSERT_OK(PackDataset(options_, out_, err_));
  EXPECT_THAT(out_.str(), HasSubstr("packed 5 images, 1 left out, 1 shard: "));
  EXPECT_EQ((*OpenSource(options_.output))->size(), 5);
}

TEST_F(DatasetCommandTest, MissingSourcesAreNotFound) {
  options_.source = dir_ / "none";
  EXPECT_THAT(ShowDataset(options_, out_, err_),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(VerifyDataset(options_, out_, err_),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(DatasetCommandTest, SurveysDoNotDependOnTheNumberOfThreads) {
  const auto store = *OpenSource(options_.source);
  std::vector<int64_t> done;
  const Survey one = SurveyImages(*store, SpreadPlaces(5, 9), 1,
                                  [&](int64_t n) { done.push_back(n); });
  const Survey four =
      SurveyImages(*store, SpreadPlaces(5, 9), 4, [](int64_t) {});
  EXPECT_EQ(one.kinds, four.kinds);
  EXPECT_EQ(one.sizes, four.sizes);
  EXPECT_EQ(one.num_images, 5);
  EXPECT_EQ(done.back(), 5);
  EXPECT_THAT(SpreadPlaces(10, 4), ElementsAre(0, 2, 5, 7));
}

}  // namespace
}  // namespace gandem
