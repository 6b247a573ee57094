// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/stored_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/files/file.h"
#include "common/files/png.h"
#include "pipeline/sources/image_sources.h"
#include "tests/pipeline/image_files.h"
#include "tests/pipeline/tensor_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class StoredImagesTest : public ::testing::Test {
 protected:
  void WriteGray(const std::string& name, uint8_t value, int64_t size = 2) {
    PixelImage image = {.height = size, .width = size};
    image.pixels.assign(static_cast<size_t>(size * size), value);
    ASSERT_OK(WritePng(dir_ / name, image));
  }
  absl::StatusOr<std::unique_ptr<StoredImages>> Open(const std::string& name) {
    auto source = OpenSource(dir_ / name);
    if (!source.ok()) return source.status();
    return StoredImages::Open(*std::move(source));
  }

  gandem::testing::TempDir dir_;
};

TEST_F(StoredImagesTest, WhatMetricsDoNotSee) {
  const SharedBytes bytes =
      gandem::testing::ImageGoldens().at("file.png_gray_16").bytes;
  ASSERT_OK(
      WriteFile(dir_ / "a.png",
                absl::string_view(reinterpret_cast<const char*>(bytes.data()),
                                  bytes.size())));
  EXPECT_THAT(Open(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("a.png"),
                                       HasSubstr("convert it to 8 bits"))));
  ASSERT_OK(WriteFile(dir_ / "a.png", "xx"));
  EXPECT_THAT(Open(""),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a.png")));
  WriteGray("a.png", 1);
  ASSERT_OK(WriteFile(dir_ / "b.png", "GIF89a"));
  EXPECT_THAT(Open(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("b.png")));
}

TEST_F(StoredImagesTest, TensorsAreNoImages) {
  const std::vector<float> numbers(4);
  ASSERT_OK(WriteFile(dir_ / "a.npy", gandem::testing::NpyBytes(
                                          DType::kF32, {1, 1, 2, 2}, numbers)));
  EXPECT_THAT(Open("a.npy"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a file of tensors holds numbers that are no "
                                 "pixels, and metrics judge images")));
}

TEST_F(StoredImagesTest, SeveralSizesAndColors) {
  WriteGray("a.png", 1, 2);
  WriteGray("b.png", 7, 3);
  ASSERT_OK_AND_ASSIGN(const auto gray, Open(""));
  EXPECT_EQ(gray->shape(),
            (ImageShape{.channels = 1, .height = 0, .width = 0}));
  EXPECT_EQ(ShapeOf(*gray->Read(1)),
            (ImageShape{.channels = 1, .height = 3, .width = 3}));
  ASSERT_OK(
      WritePng(dir_ / "c.png",
               {.channels = 3, .height = 1, .width = 1, .pixels = {1, 2, 3}}));
  ASSERT_OK_AND_ASSIGN(const auto both, Open(""));
  EXPECT_EQ(both->shape().channels, 3);
  EXPECT_THAT(both->Read(1)->pixels, Each(7));
  EXPECT_EQ(both->Read(1)->channels, 3);
}

// What another process found is believed until an image is another one.
TEST_F(StoredImagesTest, AnImageThatChangedMeanwhile) {
  WriteGray("a.png", 1, 2);
  WriteGray("b.png", 1, 3);
  ASSERT_OK_AND_ASSIGN(
      const auto images,
      StoredImages::Open(*OpenSource(dir_ / ""),
                         ImageShape{.channels = 1, .height = 2, .width = 2}));
  EXPECT_OK(images->Read(0));
  EXPECT_THAT(images->Read(1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b.png' is 3 x 3 gray"),
                             HasSubstr("all images were 2 x 2 gray"))));
}

}  // namespace
}  // namespace gandem
