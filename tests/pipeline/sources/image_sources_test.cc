// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/image_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/files/file.h"
#include "common/files/png.h"
#include "common/files/sha256.h"
#include "pipeline/formats/npz.h"
#include "pipeline/formats/tar.h"
#include "pipeline/sources/byte_values.h"
#include "tests/pipeline/idx_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::IdxBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WritePlain;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// PNG of one gray or color kind with these bytes in its IHDR.
std::string PngOfKind(char depth, char color_type) {
  std::string png =
      *EncodePng({.channels = 3, .height = 1, .width = 1, .pixels = {1, 2, 3}});
  png[24] = depth;
  png[25] = color_type;
  return png;
}

class ImageSourcesTest : public ::testing::Test {
 protected:
  void WriteGray(const std::string& name, uint8_t value, int64_t size = 2) {
    PixelImage image = {.height = size, .width = size};
    image.pixels.assign(static_cast<size_t>(size * size), value);
    ASSERT_OK(WritePng(dir_ / name, image));
  }
  void WriteNpz(const std::string& name, NamedTensor array) {
    ASSERT_OK_AND_ASSIGN(NpzWriter writer, NpzWriter::Create(dir_ / name));
    ASSERT_OK(writer.Add(array));
    ASSERT_OK(writer.Finish());
  }
  absl::StatusOr<std::unique_ptr<Dataset>> Open(const std::string& name) {
    return OpenSource(SourceUse::kEvaluate, {.path = dir_ / name});
  }
  // The bytes of an image, channel by channel.
  static std::vector<int> Bytes(const Dataset& data, int64_t index) {
    std::vector<float> values(data.shape().NumValues());
    EXPECT_EQ(*data.Read(index, values), kNoLabel);
    std::vector<int> bytes;
    for (const float value : values) bytes.push_back(QuantizePixel(value));
    return bytes;
  }

  gandem::testing::TempDir dir_;
};

TEST(ByteValuesTest, QuantizingGivesTheByteBack) {
  for (int b = 0; b < 256; ++b) EXPECT_EQ(QuantizePixel(kValueOfByte[b]), b);
}

TEST_F(ImageSourcesTest, TheSameImagesFromEachKind) {
  const std::vector<uint8_t> pixels = {0,  1,  2,  3,  4,   5,   6,   7,   8,
                                       50, 60, 70, 80, 253, 254, 255, 128, 127};
  const std::string png =
      *EncodePng({.channels = 3, .height = 2, .width = 3, .pixels = pixels});
  ASSERT_OK(CreateDirectories(dir_ / "folder"));
  ASSERT_OK(WriteFile(dir_ / "folder/a.png", png));
  ASSERT_OK_AND_ASSIGN(TarWriter tar, TarWriter::Create(dir_ / "x.tar"));
  ASSERT_OK(tar.Add("labels.txt", "no image"));
  ASSERT_OK(tar.Add("a.png", png));
  ASSERT_OK(tar.Finish());
  WriteNpz("x.npz",
           {.name = "images",
            .dtype = DType::kU8,
            .shape = {1, 2, 3, 3},
            .bytes = SharedBytes::Copy(std::as_bytes(std::span(pixels)))});
  for (const char* name : {"folder", "x.tar", "x.npz"}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const auto data, Open(name));
    EXPECT_EQ(data->size(), 1);
    EXPECT_EQ(data->shape(),
              (ImageShape{.channels = 3, .height = 2, .width = 3}));
    EXPECT_THAT(Bytes(*data, 0), ElementsAre(0, 3, 6, 50, 80, 255,   //
                                             1, 4, 7, 60, 253, 128,  //
                                             2, 5, 8, 70, 254, 127));
  }
  EXPECT_EQ(*(*Open("folder"))->ContentHash(),
            *(*Open("x.tar"))->ContentHash());
  EXPECT_EQ(*(*Open("x.npz"))->ContentHash(), *Sha256OfFile(dir_ / "x.npz"));
}

TEST_F(ImageSourcesTest, SubfoldersAndTheOrderOfNames) {
  ASSERT_OK(CreateDirectories(dir_ / "b"));
  WriteGray("b/2.PNG", 2);
  WriteGray("b/1.png", 1);
  WriteGray("c.png", 3);
  WriteGray("a.png", 0);
  ASSERT_OK(WriteFile(dir_ / "dataset.json", "{}"));
  ASSERT_OK_AND_ASSIGN(const auto data, Open(""));
  ASSERT_EQ(data->size(), 4);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(Bytes(*data, i)[0], i);
}

TEST_F(ImageSourcesTest, OtherKindsOfPngAreNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {PngOfKind(16, 2), "16 bits, RGB;"},
      {PngOfKind(8, 6), "8 bits, RGB with alpha"},
      {PngOfKind(8, 4), "gray with alpha"},
      {PngOfKind(8, 3), "palette"},
      {PngOfKind(1, 0), "1 bits, gray"}};
  for (const auto& [png, what] : cases) {
    ASSERT_OK(WriteFile(dir_ / "a.png", png));
    EXPECT_THAT(Open(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                   AllOf(HasSubstr("a.png"), HasSubstr(what),
                                         HasSubstr("8-bit RGB"))));
  }
  ASSERT_OK(WriteFile(dir_ / "a.png", "BM"));
  EXPECT_THAT(Open(""),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a.png")));
}

TEST_F(ImageSourcesTest, OtherFormatsAndNothingAtAll) {
  ASSERT_OK(CreateDirectories(dir_ / "images"));
  EXPECT_THAT(Open("images"), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("holds no PNG files")));
  ASSERT_OK(WriteFile(dir_ / "images/b.JPG", "x"));
  EXPECT_THAT(Open("images"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b.JPG"), HasSubstr("8-bit PNG"))));
  ASSERT_OK(WriteFile(dir_ / "text", "x"));
  EXPECT_THAT(Open("text"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       EndsWith("text': expected a folder of PNG files, a .tar "
                                "of them, or an .npz")));
}

TEST_F(ImageSourcesTest, AnImageOfAnotherSize) {
  WriteGray("a.png", 1, 2);
  WriteGray("b.png", 1, 3);
  ASSERT_OK_AND_ASSIGN(const auto data, Open(""));
  std::vector<float> values(4);
  EXPECT_OK(data->Read(0, values));
  EXPECT_THAT(data->Read(1, values),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b.png' is 3 x 3 gray"),
                             HasSubstr("a.png' is 2 x 2 gray"))));
}

TEST_F(ImageSourcesTest, ArraysThatAreNoImages) {
  const float values[4] = {};
  WriteNpz("x.npz",
           {.name = "arr_0",
            .dtype = DType::kF32,
            .shape = {1, 2, 2, 1},
            .bytes = SharedBytes::Copy(std::as_bytes(std::span(values)))});
  EXPECT_THAT(Open("x.npz"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("arr_0 is F32 [1, 2, 2, 1]; 8-bit images are "
                                 "U8 [N, height, width, 1 or 3]")));
}

TEST_F(ImageSourcesTest, ARunTrainsOnIdxFilesAlone) {
  const std::string idx =
      WritePlain(dir_ / "idx", IdxBytes({1, 1, 2}, {0, 255}));
  ASSERT_OK_AND_ASSIGN(const auto data,
                       OpenSource(SourceUse::kTrain, {.path = idx}));
  EXPECT_THAT(Bytes(*data, 0), ElementsAre(0, 255));
  EXPECT_EQ(*data->ContentHash(), *Sha256OfFile(idx));
  WriteGray("a.png", 1);
  EXPECT_THAT(OpenSource(SourceUse::kTrain, {.path = dir_ / "a.png"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a.png: not an IDX file")));
  EXPECT_THAT(OpenSource(SourceUse::kTrain, {.path = dir_ / "none"}),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace gandem
