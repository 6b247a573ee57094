// SPDX-License-Identifier: Apache-2.0
//
// Compares decoded images with Pillow's (tests/oracles/ image_goldens.py), and
// checks the errors for files that are not images.
#include "pipeline/formats/image_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/strip.h"
#include "pipeline/formats/jpeg.h"
#include "tests/pipeline/image_files.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::GoldenImage;
using ::gandem::testing::ImageGoldens;
using ::gandem::testing::NoiseImage;
using ::gandem::testing::PngBytes;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

std::string FileText(const NamedTensor& tensor) {
  return std::string(reinterpret_cast<const char*>(tensor.bytes.data()),
                     tensor.bytes.size());
}

TEST(ImageDecoderTest, DecodedImagesEqualPillows) {
  const auto goldens = ImageGoldens();
  int files = 0;
  for (const auto& [key, tensor] : goldens) {
    absl::string_view name = key;
    if (!absl::ConsumePrefix(&name, "file.")) continue;
    SCOPED_TRACE(key);
    ASSERT_OK_AND_ASSIGN(const DecodedImage image,
                         DecodeImage(FileText(tensor)));
    const PixelImage expected =
        GoldenImage(goldens.at(absl::StrCat("pixels.", name)));
    EXPECT_EQ(ShapeOf(image.pixels), ShapeOf(expected));
    EXPECT_TRUE(image.pixels == expected);
    ++files;
  }
  EXPECT_GT(files, 25);
}

TEST(ImageDecoderTest, TheStoredFormatIsReported) {
  const auto goldens = ImageGoldens();
  const std::pair<const char*, const char*> kCases[] = {
      {"jpeg_420", "JPEG, RGB"},
      {"jpeg_gray", "JPEG, gray"},
      {"jpeg_cmyk", "JPEG, CMYK"},
      {"png_rgb", "PNG, RGB"},
      {"png_palette", "PNG, palette"},
      {"png_gray_alpha", "PNG, gray with alpha"},
      {"png_gray_16", "PNG, gray, 16 bits"},
      {"png_gray_1", "PNG, gray, 1 bits"},
      {"webp_lossy", "WebP, RGB"},
      {"webp_alpha", "WebP, RGBA"}};
  for (const auto& [name, kind] : kCases) {
    const auto image =
        DecodeImage(FileText(goldens.at(absl::StrCat("file.", name))));
    ASSERT_OK(image);
    EXPECT_EQ(KindText(image->kind), kind);
  }
}

TEST(ImageDecoderTest, TruncatedFilesAreRefused) {
  for (const auto& [key, tensor] : ImageGoldens()) {
    if (!absl::StartsWith(key, "file.")) continue;
    SCOPED_TRACE(key);
    const std::string whole = FileText(tensor);
    for (const double part : {0.0, 0.1, 0.5, 0.9}) {
      const std::string cut = whole.substr(
          0, static_cast<size_t>(part * static_cast<double>(whole.size())));
      EXPECT_THAT(DecodeImage(cut), StatusIs(absl::StatusCode::kDataLoss))
          << part;
    }
  }
}

TEST(ImageDecoderTest, FilesThatAreNotImagesAreNamed) {
  EXPECT_THAT(DecodeImage(""), StatusIs(absl::StatusCode::kDataLoss,
                                        HasSubstr("it has no bytes")));
  EXPECT_THAT(DecodeImage("GIF89a..."),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a GIF: convert it to PNG, JPEG or WebP")));
  EXPECT_THAT(DecodeImage("\n<!DOCTYPE HTML><title>Log in</title>"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a web page")));
  EXPECT_THAT(
      DecodeImage("some text"),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no PNG, JPEG or WebP")));
}

TEST(ImageDecoderTest, MoreThanMaxPixelsIsRefusedByTheHeader) {
  const auto goldens = ImageGoldens();
  for (const char* const name : {"file.jpeg_444", "file.png_rgb",
                                 "file.webp_lossy", "file.webp_lossless"}) {
    const std::string bytes = FileText(goldens.at(name));
    EXPECT_OK(DecodeImage(bytes, /*max_pixels=*/21 * 30)) << name;
    EXPECT_THAT(DecodeImage(bytes, /*max_pixels=*/21 * 30 - 1),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("21 x 30 pixels, more than 629")));
  }
}

TEST(ImageDecoderTest, ImageNamesAreRecognizedByExtension) {
  for (const char* const name : {"a.png", "a/b.JPG", ".jpeg", "x.webp"}) {
    EXPECT_TRUE(IsImageName(name)) << name;
    EXPECT_FALSE(IsOtherImageName(name)) << name;
  }
  EXPECT_TRUE(IsOtherImageName("photo.HEIC"));
  EXPECT_FALSE(IsImageName("png"));
  EXPECT_FALSE(IsOtherImageName("labels.csv"));
}

// The value of each pixel is its original position.
TEST(ExifTest, UprightFollowsExifsTable) {
  const PixelImage stored = {
      .height = 2, .width = 3, .pixels = {1, 2, 3, 4, 5, 6}};
  const std::pair<int, std::vector<uint8_t>> kCases[] = {
      {1, {1, 2, 3, 4, 5, 6}}, {2, {3, 2, 1, 6, 5, 4}}, {3, {6, 5, 4, 3, 2, 1}},
      {4, {4, 5, 6, 1, 2, 3}}, {5, {1, 4, 2, 5, 3, 6}}, {6, {4, 1, 5, 2, 6, 3}},
      {7, {6, 3, 5, 2, 4, 1}}, {8, {3, 6, 2, 5, 1, 4}}};
  for (const auto& [orientation, pixels] : kCases) {
    const PixelImage upright = Upright(stored, orientation);
    EXPECT_EQ(upright.pixels, pixels) << orientation;
    EXPECT_EQ(upright.height, orientation < 5 ? 2 : 3);
  }
}

TEST(ExifTest, DamagedExifDataMeansUpright) {
  const std::string little(
      "Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 28);
  EXPECT_EQ(ExifOrientation(little), 6);
  for (size_t size = 0; size < 26; ++size) {
    EXPECT_EQ(ExifOrientation(absl::string_view(little).substr(0, size)), 1);
  }
  std::string nine = little;
  nine[24] = 9;
  EXPECT_EQ(ExifOrientation(nine), 1);
  std::string far = little;
  far[10] = '\xff';
  EXPECT_EQ(ExifOrientation(far), 1);
}

TEST(ExifTest, ARotatedImageIsReported) {
  const std::string jpeg = FileText(ImageGoldens().at("file.jpeg_444"));
  const absl::string_view exif(
      "Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0", 28);
  ASSERT_OK_AND_ASSIGN(const DecodedImage plain, DecodeImage(jpeg));
  EXPECT_FALSE(plain.kind.turned);
  // Inserts an APP1 segment after the start of the image.
  ASSERT_OK_AND_ASSIGN(
      const DecodedImage turned,
      DecodeImage(absl::StrCat(jpeg.substr(0, 2),
                               absl::string_view("\xff\xe1\0\x1e", 4), exif,
                               jpeg.substr(2))));
  EXPECT_EQ(turned.pixels.height, plain.pixels.width);
  EXPECT_TRUE(turned.kind.turned);
  EXPECT_EQ(KindText(turned.kind), "JPEG, RGB, turned");
}

}  // namespace
}  // namespace gandem
