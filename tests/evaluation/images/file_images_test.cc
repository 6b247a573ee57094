// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/file_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "evaluation/images/derived_images.h"
#include "models/torch.h"
#include "tests/pipeline/image_files.h"
#include "tests/pipeline/tensor_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class FileImagesTest : public ::testing::Test {
 protected:
  // Writes an image of `value` in all pixels.
  void Write(const std::string& name, int64_t channels, int64_t size,
             uint8_t value) {
    PixelImage image = {.channels = channels, .height = size, .width = size};
    image.pixels.assign(static_cast<size_t>(channels * size * size), value);
    ASSERT_OK(CreateDirectories(ParentOf(dir_ / name)));
    ASSERT_OK(WritePng(dir_ / name, image));
  }

  gandem::testing::TempDir dir_;
};

TEST_F(FileImagesTest, SeveralSizesAreReadOneByOne) {
  Write("a.png", 1, 2, 10);
  Write("b.png", 3, 4, 200);
  ASSERT_OK_AND_ASSIGN(const auto images, OpenFileImages(dir_ / ""));
  EXPECT_EQ(images->shape(),
            (ImageShape{.channels = 3, .height = 0, .width = 0}));
  EXPECT_THAT(images->Read({.first = 0, .count = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("of several sizes")));
  ASSERT_OK_AND_ASSIGN(const std::vector<at::Tensor> each,
                       images->ReadEach({.first = 0, .count = 2}));
  EXPECT_TRUE(each[0].equal(torch::full({1, 3, 2, 2}, 10, at::kByte)));
  EXPECT_TRUE(each[1].equal(torch::full({1, 3, 4, 4}, 200, at::kByte)));
  EXPECT_THAT(images->NameOf(1), EndsWith("b.png"));
  EXPECT_THAT(images->ReadEach({.first = 1, .count = 2}),
              StatusIs(absl::StatusCode::kOutOfRange));
  ASSERT_OK_AND_ASSIGN(const ImagesCard card, images->Describe());
  EXPECT_EQ(card.height(), 0);
}

TEST_F(FileImagesTest, SeveralSizesBecomeOne) {
  Write("a.png", 1, 2, 10);
  Write("b.png", 1, 4, 200);
  ASSERT_OK_AND_ASSIGN(auto images, OpenFileImages(dir_ / ""));
  ImagesSpec::Resize resize;
  resize.set_kernel("area");
  resize.set_height(4);
  resize.set_width(4);
  ASSERT_OK_AND_ASSIGN(const auto resized,
                       ResizeImages(std::move(images), resize));
  ASSERT_OK_AND_ASSIGN(const at::Tensor all_NCHW,
                       resized->Read({.first = 0, .count = 2}));
  EXPECT_TRUE(all_NCHW[0].eq(10).all().item<bool>());
  EXPECT_TRUE(all_NCHW[1].eq(200).all().item<bool>());
}

// A worker trusts the shape that the evaluation has found.
TEST_F(FileImagesTest, AKnownShape) {
  Write("a.png", 1, 2, 10);
  ImagesSpec spec;
  spec.set_files(dir_ / "");
  spec.mutable_files_shape()->set_channels(3);
  ASSERT_OK_AND_ASSIGN(const auto images, OpenImageSet(spec));
  EXPECT_EQ(images->shape(),
            (ImageShape{.channels = 3, .height = 0, .width = 0}));
}

// A known shape is trusted until an image differs.
TEST_F(FileImagesTest, AnImageThatChangedMeanwhile) {
  Write("a.png", 1, 2, 1);
  Write("b.png", 1, 3, 1);
  ASSERT_OK_AND_ASSIGN(
      const auto images,
      OpenFileImages(dir_ / "",
                     ImageShape{.channels = 1, .height = 2, .width = 2}));
  EXPECT_OK(images->Read({.first = 0, .count = 1}));
  EXPECT_THAT(images->Read({.first = 1, .count = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b.png' is 3 x 3 gray"),
                             HasSubstr("all images were 2 x 2 gray"))));
}

TEST_F(FileImagesTest, GrayImagesKeepOneChannel) {
  Write("a.png", 1, 2, 1);
  Write("b.png", 1, 3, 7);
  ASSERT_OK_AND_ASSIGN(const auto images, OpenFileImages(dir_ / ""));
  EXPECT_EQ(images->shape(),
            (ImageShape{.channels = 1, .height = 0, .width = 0}));
}

TEST_F(FileImagesTest, RefusesImagesThatMetricsCannotRead) {
  const SharedBytes bytes =
      gandem::testing::ImageGoldens().at("file.png_gray_16").bytes;
  ASSERT_OK(
      WriteFile(dir_ / "a.png",
                absl::string_view(reinterpret_cast<const char*>(bytes.data()),
                                  bytes.size())));
  EXPECT_THAT(
      OpenFileImages(dir_ / ""),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("a.png"), HasSubstr("convert it to 8 bits"))));
  ASSERT_OK(WriteFile(dir_ / "a.png", "xx"));
  EXPECT_THAT(OpenFileImages(dir_ / ""),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a.png")));
  Write("a.png", 1, 2, 1);
  ASSERT_OK(WriteFile(dir_ / "b.png", "GIF89a"));
  EXPECT_THAT(OpenFileImages(dir_ / ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("b.png")));
}

TEST_F(FileImagesTest, TensorsAreNoImages) {
  const std::vector<float> numbers(4);
  ASSERT_OK(WriteFile(dir_ / "a.npy", gandem::testing::NpyBytes(
                                          DType::kF32, {1, 1, 2, 2}, numbers)));
  EXPECT_THAT(OpenFileImages(dir_ / "a.npy"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a file of tensors holds no pixels, and "
                                 "metrics need images")));
}

}  // namespace
}  // namespace gandem
