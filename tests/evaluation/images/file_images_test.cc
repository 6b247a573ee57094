// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/file_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/files/crc32c.h"
#include "common/files/file.h"
#include "evaluation/images/export_images.h"
#include "pipeline/formats/npz.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kFileImagesCount = 70;  // more than a batch

// Image i of 2 x 3 RGB: bytes that all differ from image to image.
at::Tensor Pattern(IndexRange range) {
  return (torch::arange(range.first, range.end()).view({-1, 1, 1, 1}) * 3 +
          torch::arange(18).view({1, 3, 2, 3}) * 5)
      .remainder(256)
      .to(at::kByte);
}

class PatternImages : public ImageSet {
 public:
  int64_t size() const override { return kFileImagesCount; }
  ImageShape shape() const override {
    return {.channels = 3, .height = 2, .width = 3};
  }
  absl::StatusOr<ImagesCard> Describe() const override { return ImagesCard(); }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    return Pattern(range);
  }
};

// PNG of one gray or color kind with these bytes in its IHDR.
std::string PngOfKind(char depth, char color_type) {
  std::string png =
      *EncodePng({.channels = 3, .height = 1, .width = 1, .pixels = {1, 2, 3}});
  png[24] = depth;
  png[25] = color_type;
  return png;
}

class FileImagesTest : public ::testing::Test {
 protected:
  void WriteGray(const std::string& name, uint8_t value, int64_t size = 2) {
    PixelImage image = {.height = size, .width = size};
    image.pixels.assign(static_cast<size_t>(size * size), value);
    ASSERT_OK(WritePng(dir_ / name, image));
  }
  absl::Status OpenStatus(const std::string& name) {
    return OpenFileImages(dir_ / name).status();
  }

  gandem::testing::TempDir dir_;
};

TEST_F(FileImagesTest, WhatIsExportedIsRead) {
  PatternImages pattern;
  std::string png_hash;
  for (const char* name : {"folder/", "x.tar", "x.npz"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(IsExportPath(dir_ / name));
    ASSERT_OK(ExportImages(pattern, kFileImagesCount, dir_ / name));
    ASSERT_OK_AND_ASSIGN(const auto images, OpenFileImages(dir_ / name));
    EXPECT_EQ(images->size(), kFileImagesCount);
    EXPECT_EQ(images->shape(), pattern.shape());
    ASSERT_OK_AND_ASSIGN(const at::Tensor all,
                         images->Read({.first = 0, .count = kFileImagesCount}));
    EXPECT_TRUE(all.equal(Pattern({.first = 0, .count = kFileImagesCount})));
    ASSERT_OK_AND_ASSIGN(const at::Tensor some,
                         images->Read({.first = 60, .count = 10}));
    EXPECT_TRUE(some.equal(Pattern({.first = 60, .count = 10})));
    EXPECT_TRUE(some.is_contiguous());
    ASSERT_OK_AND_ASSIGN(const ImagesCard card, images->Describe());
    EXPECT_EQ(card.kind(), "files");
    EXPECT_EQ(card.sha256().size(), 64u);
    EXPECT_EQ(card.channels(), 3);
    EXPECT_EQ(card.width(), 3);
    if (absl::string_view(name) == "x.npz") continue;
    if (png_hash.empty()) png_hash = card.sha256();
    EXPECT_EQ(card.sha256(), png_hash);
  }
}

TEST_F(FileImagesTest, RangesAreChecked) {
  WriteGray("a.png", 1);
  ASSERT_OK_AND_ASSIGN(const auto images, OpenFileImages(dir_.path()));
  for (const IndexRange range : {IndexRange{0, 2}, IndexRange{1, 1},
                                 IndexRange{-1, 1}, IndexRange{0, 0}}) {
    EXPECT_THAT(images->Read(range), StatusIs(absl::StatusCode::kOutOfRange));
  }
}

TEST_F(FileImagesTest, SubfoldersAndTheOrderOfNames) {
  ASSERT_OK(CreateDirectories(dir_ / "b"));
  WriteGray("b/2.PNG", 2);
  WriteGray("b/1.png", 1);
  WriteGray("c.png", 3);
  WriteGray("a.png", 0);
  ASSERT_OK(WriteFile(dir_ / "dataset.json", "{}"));
  ASSERT_OK_AND_ASSIGN(const auto images, OpenFileImages(dir_.path()));
  ASSERT_OK_AND_ASSIGN(const at::Tensor all,
                       images->Read({.first = 0, .count = 4}));
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i][0][0][0].item<int64_t>(), i);
  }
}

TEST_F(FileImagesTest, OtherKindsOfPngAreNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {PngOfKind(16, 2), "16 bits, RGB;"},
      {PngOfKind(8, 6), "8 bits, RGB with alpha"},
      {PngOfKind(8, 4), "gray with alpha"},
      {PngOfKind(8, 3), "palette"},
      {PngOfKind(1, 0), "1 bits, gray"}};
  for (const auto& [png, what] : cases) {
    ASSERT_OK(WriteFile(dir_ / "a.png", png));
    EXPECT_THAT(OpenStatus(""),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("a.png"), HasSubstr(what),
                               HasSubstr("8-bit RGB"))));
  }
  ASSERT_OK(WriteFile(dir_ / "a.png", "BM"));
  EXPECT_THAT(OpenStatus(""),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a.png")));
}

TEST_F(FileImagesTest, OtherFormatsAndNothingAtAll) {
  ASSERT_OK(CreateDirectories(dir_ / "images"));
  EXPECT_THAT(OpenStatus("images"), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("holds no PNG files")));
  ASSERT_OK(WriteFile(dir_ / "images/b.JPG", "x"));
  EXPECT_THAT(OpenStatus("images"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b.JPG"), HasSubstr("8-bit PNG"))));
  EXPECT_THAT(OpenStatus("none"), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(WriteFile(dir_ / "text", "x"));
  EXPECT_THAT(OpenStatus("text"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected a folder of PNG files")));
}

TEST_F(FileImagesTest, AnImageOfAnotherSize) {
  WriteGray("a.png", 1, 2);
  WriteGray("b.png", 1, 3);
  ASSERT_OK_AND_ASSIGN(const auto images, OpenFileImages(dir_.path()));
  EXPECT_THAT(images->Read({.first = 0, .count = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b.png' is 3 x 3 gray"),
                             HasSubstr("a.png' is 2 x 2 gray"))));
}

TEST_F(FileImagesTest, ArraysThatAreNoImages) {
  const float values[4] = {};
  ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(dir_ / "x.npz"));
  ASSERT_OK(writer.Add(
      {.name = "arr_0",
       .dtype = DType::kF32,
       .shape = {1, 2, 2, 1},
       .bytes = SharedBytes::Copy(std::as_bytes(std::span(values)))}));
  ASSERT_OK(writer.Finish());
  EXPECT_THAT(OpenStatus("x.npz"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("arr_0 is F32 [1, 2, 2, 1]; 8-bit images are "
                                 "U8 [N, height, width, 1 or 3]")));
}

TEST_F(FileImagesTest, OldImagesAreNotMixedWithNewOnes) {
  PatternImages pattern;
  ASSERT_OK(ExportImages(pattern, 2, dir_ / "folder/"));
  EXPECT_THAT(*ListDirectory(dir_ / "folder"),
              ElementsAre("000000.png", "000001.png"));
  EXPECT_THAT(ExportImages(pattern, 1, dir_ / "folder"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("000000.png already")));
}

}  // namespace
}  // namespace gandem
