// SPDX-License-Identifier: Apache-2.0
//
// Tests of the choice of images in a folder or an archive, and of the
// description of the unused files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "pipeline/sources/image_sources.h"
#include "pipeline/sources/survey.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::DescribeAsP;
using ::gandem::testing::ImageGoldens;
using ::gandem::testing::NamedBytes;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteTar;
using ::gandem::testing::WriteTree;
using ::gandem::testing::WriteZip;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class UnusedFilesTest : public ::testing::Test {
 protected:
  void Link(const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, std::string(dir_ / name));
  }
  std::unique_ptr<ImageStore> Open(const std::string& name) {
    auto source = OpenSource(dir_ / name);
    EXPECT_OK(source);
    return source.ok() ? *std::move(source) : nullptr;
  }

  gandem::testing::TempDir dir_;
  const std::string png_ = PngBytes(NoiseImage(3, 4, 4, 1));
};

// The content of files decides, and other files are counted.
TEST_F(UnusedFilesTest, FoldersAndArchivesGiveTheSameResult) {
  const NamedTensor jpeg = ImageGoldens().at("file.jpeg_444");
  const std::string jpeg_bytes(reinterpret_cast<const char*>(jpeg.bytes.data()),
                               jpeg.bytes.size());
  const NamedBytes files = {{"a.png", png_},
                            {"b", png_},
                            {"c.jpg_large", jpeg_bytes},
                            {"d.APNG", png_},
                            {"e.jpe", jpeg_bytes},
                            {"f.2", png_},
                            {".hidden.png", png_},
                            {"LICENSE", "text"},
                            {"g.tga", std::string(300, '\0')},
                            {"h.txt", "text"},
                            {"h2.TXT", "text"},
                            {"i.pnm", "P6\n1 1\n255\nabc"}};
  WriteTree(dir_ / "folder", files);
  WriteZip(dir_ / "a.zip", files);
  WriteZip(dir_ / "b.zip", files, /*deflate=*/true);
  WriteTar(dir_ / "a.tar", files);
  WriteTar(dir_ / "no_ending", files);
  for (const char* const name :
       {"folder", "a.zip", "b.zip", "a.tar", "no_ending"}) {
    SCOPED_TRACE(name);
    const auto source = Open(name);
    ASSERT_NE(source, nullptr);
    EXPECT_EQ(source->size(), 6);
    for (int64_t i = 0; i < source->size(); ++i) EXPECT_OK(source->Read(i));
    EXPECT_EQ(UnusedText(source->info().unused),
              "not used: .txt (2); .pnm (1); .tga (1); hidden (1); no ending "
              "(1)");
    EXPECT_THAT(DescribeAsP(*source), HasSubstr(" P; not used: .txt (2); "));
  }
}

// There are more files than are inspected at first.
TEST_F(UnusedFilesTest, SomeOfManyFilesWithOneExtensionAreInspected) {
  NamedBytes files;
  for (int i = 0; i < 60; ++i) {
    files.emplace_back(absl::StrCat(100 + i, ".bin"), i % 3 == 0 ? png_ : "x");
    files.emplace_back(absl::StrCat(100 + i, ".dat"), png_);
    files.emplace_back(absl::StrCat(100 + i, ".log"), "x");
  }
  WriteZip(dir_ / "a.zip", files);
  const auto source = Open("a.zip");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->size(), 20 + 60);
  EXPECT_EQ(source->KeyOf(0), "100.bin");
  EXPECT_EQ(source->KeyOf(1), "100.dat");
  EXPECT_EQ(source->KeyOf(2), "101.dat");
  EXPECT_EQ(UnusedText(source->info().unused),
            "not used: .log (60); .bin (40)");
}

TEST_F(UnusedFilesTest, LabelFilesAreNotCountedAsUnused) {
  WriteTree(dir_ / "csv", {{"1.png", png_}, {"labels.csv", "1.png,0\n"}});
  EXPECT_EQ(UnusedText(Open("csv")->info().unused), "");
  WriteTree(dir_ / "cls", {{"1.png", png_}, {"1.cls", "0"}});
  EXPECT_EQ(UnusedText(Open("cls")->info().unused), "");
}

TEST_F(UnusedFilesTest, WithoutImagesTheFilesAreNamed) {
  WriteTree(dir_ / "x", {{"a.txt", "x"}, {"b.txt", "x"}, {".c.png", png_}});
  EXPECT_THAT(OpenSource(dir_ / "x"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("found .txt (2); hidden (1), such as "
                                 "'a.txt'")));
}

TEST_F(UnusedFilesTest, LinksToFilesAreFollowedAnywhere) {
  WriteTree(dir_ / "blobs", {{"0123abcd", png_}});
  WriteTree(dir_ / "in", {{"1.png", png_}});
  Link("1.png", "in/2.png");
  Link("../blobs/0123abcd", "in/3.png");
  Link("../blobs/0123abcd", "in/4");
  const auto source = Open("in");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->size(), 4);
  EXPECT_EQ(source->KeyOf(2), "3.png");
  for (int64_t i = 0; i < 4; ++i) EXPECT_OK(source->Read(i));
  EXPECT_EQ(UnusedText(source->info().unused), "");
}

TEST_F(UnusedFilesTest, LinkedFoldersAreEnteredBelowTheFolder) {
  WriteTree(dir_ / "in", {{"cat/1.png", png_}, {"dog/deep/2.png", png_}});
  WriteTree(dir_ / "out", {{"3.png", png_}});
  Link("cat", "in/lynx");
  Link("../dog", "in/cat/friends");  // not a loop
  const auto source = Open("in");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->size(), 5);
  EXPECT_EQ(source->KeyOf(1), "cat/friends/deep/2.png");
  EXPECT_EQ(UnusedText(source->info().unused), "");
  Link("..", "in/cat/up");
  Link("../..", "in/dog/deep/again");
  Link("../out", "in/elsewhere");
  const auto circles = Open("in");
  ASSERT_NE(circles, nullptr);
  EXPECT_EQ(circles->size(), 5);
  // up: in cat and lynx. again: in dog, cat/friends and lynx/friends.
  EXPECT_EQ(UnusedText(circles->info().unused),
            "not used: linked folder around itself (5); linked folder that "
            "lies elsewhere (1)");
}

TEST_F(UnusedFilesTest, ArraysBesideImagesDoNotMakeAnNpz) {
  NamedBytes files = {{"stats.npy", "\x93NUMPY..."}};
  for (int i = 0; i < 20; ++i) {
    files.emplace_back(absl::StrCat(i, ".png"), png_);
  }
  WriteZip(dir_ / "a.zip", files);
  EXPECT_THAT(DescribeAsP(*Open("a.zip")),
              AllOf(HasSubstr("20 images, "), HasSubstr("a zip of images"),
                    EndsWith("not used: .npy (1)")));
}

}  // namespace
}  // namespace gandem
