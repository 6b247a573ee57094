// SPDX-License-Identifier: Apache-2.0
#include "common/files/png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <limits>

#include "common/files/file.h"
#include "tests/testing/memory.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PixelImage Noise(int64_t channels, int64_t height, int64_t width) {
  PixelImage image = {.channels = channels, .height = height, .width = width};
  for (int64_t i = 0; i < channels * height * width; ++i) {
    image.pixels.push_back(static_cast<uint8_t>(i * 2654435761u >> 11));
  }
  return image;
}

TEST(QuantizePixelTest, KnownValuesAreQuantized) {
  EXPECT_EQ(QuantizePixel(-1.0f), 0);
  EXPECT_EQ(QuantizePixel(0.0f), 128);
  EXPECT_EQ(QuantizePixel(1.0f), 255);
  EXPECT_EQ(QuantizePixel(-7.0f), 0);
  EXPECT_EQ(QuantizePixel(7.0f), 255);
  EXPECT_EQ(QuantizePixel(std::numeric_limits<float>::infinity()), 255);
  EXPECT_EQ(QuantizePixel(std::nanf("")), 0);
}

TEST(QuantizePixelTest, QuantizingInvertsTheReadersConversion) {
  for (int b = 0; b < 256; ++b) {
    EXPECT_EQ(QuantizePixel(static_cast<float>(b / 127.5 - 1.0)), b);
  }
}

TEST(PngTest, WrittenImagesAreReadBack) {
  for (const PixelImage& image :
       {Noise(1, 1, 1), Noise(1, 13, 7), Noise(3, 1, 5), Noise(3, 64, 31)}) {
    ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodePng(image));
    ASSERT_OK_AND_ASSIGN(const PixelImage back, DecodePng(bytes));
    EXPECT_EQ(back, image);
  }
}

TEST(PngTest, WritingReplacesTheFile) {
  gandem::testing::TempDir dir;
  const std::string path = dir / "a.png";
  ASSERT_OK(WritePng(path, Noise(1, 50, 50)));
  ASSERT_OK(WritePng(path, Noise(3, 2, 2)));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(path));
  ASSERT_OK_AND_ASSIGN(const PixelImage back, DecodePng(bytes));
  EXPECT_EQ(back, Noise(3, 2, 2));
  EXPECT_THAT(ListDirectory(dir.path()).value(), ElementsAre("a.png"));
}

TEST(PngTest, AFailedWriteNamesThePath) {
  EXPECT_THAT(WritePng("/no/such/folder/a.png", Noise(1, 1, 1)),
              StatusIs(absl::StatusCode::kNotFound,
                       ::testing::HasSubstr("/no/such/folder/a.png")));
}

TEST(PngTest, DamageIsDetected) {
  ASSERT_OK_AND_ASSIGN(std::string bytes, EncodePng(Noise(1, 40, 40)));
  EXPECT_THAT(DecodePng("GIF89a"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(DecodePng(bytes.substr(0, bytes.size() / 2)),
              StatusIs(absl::StatusCode::kDataLoss));
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_THAT(DecodePng(bytes), StatusIs(absl::StatusCode::kDataLoss));
}

// A chunk before the pixels claims 2 GB.
TEST(PngTest, AFalseChunkLengthAllocatesNothing) {
  ASSERT_OK_AND_ASSIGN(std::string bytes, EncodePng(Noise(3, 2, 2)));
  constexpr size_t kHeaderEnd = 33;  // end of signature and IHDR
  for (const char* const type :
       {"tEXt", "iTXt", "zTXt", "iCCP", "eXIf", "sPLT", "abCd"}) {
    std::string damaged = bytes;
    damaged.insert(kHeaderEnd, std::string("\x7f\xff\xff\xf0", 4) + type);
    absl::Status status;
    const int64_t growth = gandem::testing::GrowthWhile(
        [&] { status = DecodePng(damaged).status(); });
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                 HasSubstr("ends too early")))
        << type;
    if (gandem::testing::kMeasuresMemory) {
      EXPECT_LT(growth, 16 << 20) << type;
    }
  }
}

// Pillow also reads such a file: all pixels come before the chunk IEND.
TEST(PngTest, TheEndMayBeMissing) {
  const PixelImage image = Noise(3, 4, 4);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, EncodePng(image));
  for (size_t cut = 1; cut <= 12; ++cut) {
    ASSERT_OK_AND_ASSIGN(const PixelImage read,
                         DecodePng(bytes.substr(0, bytes.size() - cut)));
    EXPECT_EQ(read, image) << cut;
  }
  EXPECT_THAT(DecodePng(bytes.substr(0, bytes.size() - 13)),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(PngTest, MorePixelsThanTheBytesCanHoldAreRefused) {
  ASSERT_OK_AND_ASSIGN(std::string bytes, EncodePng(Noise(1, 1, 1)));
  // Offset of the first chunk's type, followed by width and height.
  constexpr size_t kType = 12;
  constexpr size_t kHeaderBytes = 4 + 13;
  const std::string side = {0, 0, '\xea', '\x60'};  // 60000
  bytes.replace(kType + 4, 8, side + side);
  const auto crc = static_cast<uint32_t>(crc32_z(
      0, reinterpret_cast<const Bytef*>(bytes.data()) + kType, kHeaderBytes));
  for (size_t i = 0; i < 4; ++i) {
    bytes[kType + kHeaderBytes + i] = static_cast<char>(crc >> (24 - 8 * i));
  }
  EXPECT_THAT(DecodePng(bytes),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("cannot hold 60000 x 60000 pixels")));
}

TEST(TileImagesTest, GrayImagesHaveGapsAndAnEmptyCell) {
  // Three images of 1 x 2 pixels make a grid of 2 x 2 cells.
  const PixelImage grid = TileImages(std::vector<float>{-1, 1, 1, -1, -1, -1},
                                     {.channels = 1, .height = 1, .width = 2});
  EXPECT_EQ(grid.height, 4);
  EXPECT_EQ(grid.width, 6);
  EXPECT_THAT(grid.pixels, ElementsAre(0, 255, 255, 255, 255, 0,      //
                                       255, 255, 255, 255, 255, 255,  //
                                       255, 255, 255, 255, 255, 255,  //
                                       0, 0, 255, 255, 255, 255));
}

TEST(TileImagesTest, ChannelsComeLast) {
  const PixelImage image = TileImages(std::vector<float>{-1, -1, 0, 0, 1, 1},
                                      {.channels = 3, .height = 1, .width = 2});
  EXPECT_EQ(image.channels, 3);
  EXPECT_THAT(image.pixels, ElementsAre(0, 128, 255, 0, 128, 255));
}

TEST(TileImagesTest, ImagesWithOtherChannelCountsShowSomeChannels) {
  const PixelImage latents =
      TileImages(std::vector<float>{-1, 0, 1, 0.5, -1},
                 {.channels = 5, .height = 1, .width = 1});
  EXPECT_EQ(
      latents,
      (PixelImage{
          .channels = 3, .height = 1, .width = 1, .pixels = {0, 128, 255}}));
  const PixelImage two = TileImages(std::vector<float>{1, -1},
                                    {.channels = 2, .height = 1, .width = 1});
  EXPECT_EQ(two, (PixelImage{.height = 1, .width = 1, .pixels = {255}}));
}

TEST(TileImagesTest, TheGridIsNearlySquare) {
  const auto size = [](int64_t num_images) {
    const PixelImage grid =
        TileImages(std::vector<float>(num_images),
                   {.channels = 1, .height = 1, .width = 1});
    return std::pair((grid.height + 2) / 3, (grid.width + 2) / 3);
  };
  EXPECT_EQ(size(1), (std::pair<int64_t, int64_t>(1, 1)));
  EXPECT_EQ(size(2), (std::pair<int64_t, int64_t>(1, 2)));
  EXPECT_EQ(size(5), (std::pair<int64_t, int64_t>(2, 3)));
  EXPECT_EQ(size(64), (std::pair<int64_t, int64_t>(8, 8)));
  EXPECT_EQ(size(65), (std::pair<int64_t, int64_t>(8, 9)));
}

}  // namespace
}  // namespace gandem
