// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/file_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/png.h"
#include "evaluation/images/resized_images.h"
#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class FileImagesTest : public ::testing::Test {
 protected:
  // Value `value` in all of its pixels.
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

// A worker believes what the process that started it has found.
TEST_F(FileImagesTest, AKnownShape) {
  Write("a.png", 1, 2, 10);
  ImagesSpec spec;
  spec.set_files(dir_ / "");
  spec.mutable_files_shape()->set_channels(3);
  ASSERT_OK_AND_ASSIGN(const auto images, OpenImageSet(spec));
  EXPECT_EQ(images->shape(),
            (ImageShape{.channels = 3, .height = 0, .width = 0}));
}

TEST_F(FileImagesTest, LabelsOfFolders) {
  Write("cat/1.png", 1, 2, 10);
  Write("cat/2.png", 1, 2, 11);
  Write("dog/1.png", 1, 2, 12);
  ASSERT_OK_AND_ASSIGN(const auto images, OpenFileImages(dir_ / ""));
  EXPECT_EQ(images->num_classes(), 2);
  ASSERT_OK_AND_ASSIGN(const at::Tensor labels_N,
                       images->ReadLabels({.first = 1, .count = 2}));
  EXPECT_TRUE(labels_N.equal(torch::tensor({0, 1}, at::kLong)));
}

}  // namespace
}  // namespace gandem
