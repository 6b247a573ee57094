// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/dataset_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/sha256.h"
#include "evaluation/images/export_images.h"
#include "evaluation/images/file_images.h"
#include "models/torch.h"
#include "tests/pipeline/idx_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::IdxBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WritePlain;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kPatternImages = 70;  // more than a batch

// Images of 2 x 3 RGB pixels, whose bytes all differ from image to image.
at::Tensor Pattern(IndexRange range) {
  return (torch::arange(range.first, range.end()).view({-1, 1, 1, 1}) * 3 +
          torch::arange(18).view({1, 3, 2, 3}) * 5)
      .remainder(256)
      .to(at::kByte);
}

class PatternImages : public ImageSet {
 public:
  int64_t size() const override { return kPatternImages; }
  ImageShape shape() const override {
    return {.channels = 3, .height = 2, .width = 3};
  }
  absl::StatusOr<ImagesCard> Describe() const override { return ImagesCard(); }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    return Pattern(range);
  }
};

class DatasetImagesTest : public ::testing::Test {
 protected:
  gandem::testing::TempDir dir_;
};

TEST_F(DatasetImagesTest, ReadsExportedImages) {
  PatternImages pattern;
  std::string png_hash;
  for (const char* name : {"folder/", "x.tar", "x.npz"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(IsExportPath(dir_ / name));
    ASSERT_OK(ExportImages(pattern, kPatternImages, dir_ / name));
    ASSERT_OK_AND_ASSIGN(const auto images, OpenFileImages(dir_ / name));
    EXPECT_EQ(images->size(), kPatternImages);
    EXPECT_EQ(images->shape(), pattern.shape());
    ASSERT_OK_AND_ASSIGN(const at::Tensor all,
                         images->Read({.first = 0, .count = kPatternImages}));
    EXPECT_TRUE(all.equal(Pattern({.first = 0, .count = kPatternImages})));
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

TEST_F(DatasetImagesTest, RangesAreChecked) {
  PatternImages pattern;
  ASSERT_OK(ExportImages(pattern, 1, dir_ / "x.npz"));
  ASSERT_OK_AND_ASSIGN(const auto images, OpenFileImages(dir_ / "x.npz"));
  for (const IndexRange range : {IndexRange{0, 2}, IndexRange{1, 1},
                                 IndexRange{-1, 1}, IndexRange{0, 0}}) {
    EXPECT_THAT(images->Read(range), StatusIs(absl::StatusCode::kOutOfRange));
  }
}

TEST_F(DatasetImagesTest, ADatasetHasACardOfItsOwn) {
  DataConfig data;
  data.set_idx_images(WritePlain(dir_ / "train-images",
                                 IdxBytes({3, 1, 2}, {0, 255, 7, 8, 9, 10})));
  data.set_idx_labels("");
  data.set_image_size(2);
  ASSERT_OK_AND_ASSIGN(const auto images, OpenDatasetImages(data));
  ASSERT_OK_AND_ASSIGN(const at::Tensor image_NCHW,
                       images->Read({.first = 1, .count = 1}));
  EXPECT_TRUE(
      image_NCHW.flatten().equal(torch::tensor({7, 8, 0, 0}, torch::kByte)));
  ASSERT_OK_AND_ASSIGN(const ImagesCard card, images->Describe());
  EXPECT_EQ(card.kind(), "dataset");
  EXPECT_EQ(card.split(), "train");
  EXPECT_EQ(card.fit(), "pad to 2 x 2");
  Sha256 hash;
  hash.Update(absl::StrCat("dataset ", *Sha256OfFile(data.idx_images()),
                           " pad to 2 x 2 0"));
  EXPECT_EQ(card.sha256(), hash.Finish());
}

TEST_F(DatasetImagesTest, NoSuchFile) {
  EXPECT_THAT(OpenFileImages(dir_ / "none.tar"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("none.tar': no such file or folder")));
}

TEST_F(DatasetImagesTest, OldImagesAreNotMixedWithNewOnes) {
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
