// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/idx_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "pipeline/sources/open_dataset.h"
#include "proto/config.pb.h"
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
using ::testing::HasSubstr;

class IdxDatasetTest : public ::testing::Test {
 protected:
  gandem::testing::TempDir dir_;
  const std::string images_ = WritePlain(
      dir_ / "images", IdxBytes({3, 1, 2}, {0, 255, 51, 204, 127, 128}));
  const std::string labels_ =
      WritePlain(dir_ / "labels", IdxBytes({3}, {7, 8, 9}));
};

TEST_F(IdxDatasetTest, ReadsImagesAndLabels) {
  ASSERT_OK_AND_ASSIGN(const auto data,
                       OpenIdx({.path = images_, .labels_path = labels_}));
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->shape(),
            (ImageShape{.channels = 1, .height = 1, .width = 2}));
  std::vector<float> pixels(2);
  EXPECT_EQ(*data->Read(0, pixels), 7);
  EXPECT_THAT(pixels, ElementsAre(-1.0f, 1.0f));
  EXPECT_EQ(*data->Read(1, pixels), 8);
  EXPECT_THAT(pixels, ElementsAre(-0.6f, 0.6f));
  EXPECT_EQ(*data->Read(2, pixels), 9);
  EXPECT_THAT(pixels, ElementsAre(127 / 127.5 - 1.0, 128 / 127.5 - 1.0));
}

TEST_F(IdxDatasetTest, WithoutLabels) {
  ASSERT_OK_AND_ASSIGN(const auto data, OpenIdx({.path = images_}));
  std::vector<float> pixels(2);
  EXPECT_EQ(*data->Read(2, pixels), kNoLabel);
}

TEST_F(IdxDatasetTest, MaxImages) {
  for (const auto& [max_images, size] :
       {std::pair{0, 3}, {1, 1}, {2, 2}, {3, 3}, {4, 3}}) {
    ASSERT_OK_AND_ASSIGN(const auto data, OpenIdx({.path = images_,
                                                   .labels_path = labels_,
                                                   .max_images = max_images}));
    EXPECT_EQ(data->size(), size) << max_images;
    std::vector<float> pixels(2);
    EXPECT_EQ(*data->Read(size - 1, pixels), 6 + size);
  }
}

TEST_F(IdxDatasetTest, LabelCountMustEqualImageCount) {
  WritePlain(labels_, IdxBytes({2}, {7, 8}));
  EXPECT_THAT(OpenIdx({.path = images_, .labels_path = labels_}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(labels_), HasSubstr(images_),
                             HasSubstr("the 3 images"), HasSubstr("found 2"))));
}

TEST_F(IdxDatasetTest, LabelsMustBeBelowTheNumberOfClasses) {
  EXPECT_OK(
      OpenIdx({.path = images_, .labels_path = labels_, .num_classes = 10}));
  EXPECT_THAT(
      OpenIdx({.path = images_, .labels_path = labels_, .num_classes = 8}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr(labels_),
                     HasSubstr("image 1 has label 8, data.num_classes "
                               "is 8"))));
}

TEST_F(IdxDatasetTest, SwappedFilesAreNoticed) {
  EXPECT_THAT(OpenIdx({.path = labels_, .labels_path = images_}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(labels_)));
}

// The defaults of the config: Debian's dataset-fashion-mnist.
TEST(FashionMnistTest, OpensInWellUnderASecond) {
  DataConfig config;
  const absl::Time start = absl::Now();
  ASSERT_OK_AND_ASSIGN(const auto data, OpenDataset(config));
  // About 0.3 s; sanitizers and a busy machine get a margin.
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_EQ(data->size(), 60000);
  EXPECT_EQ(data->shape(),
            (ImageShape{.channels = 1, .height = 32, .width = 32}));
  std::vector<float> pixels(data->shape().NumValues());
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 10; ++i) labels.push_back(*data->Read(i, pixels));
  // The first labels of the published set.
  EXPECT_THAT(labels, ElementsAre(9, 0, 0, 3, 0, 2, 7, 2, 5, 5));
}

TEST_F(IdxDatasetTest, OpenDatasetFollowsTheConfig) {
  DataConfig config;
  config.set_idx_images(images_);
  config.set_idx_labels(labels_);
  config.set_image_size(4);
  config.set_max_images(2);
  ASSERT_OK_AND_ASSIGN(const auto padded, OpenDataset(config));
  EXPECT_EQ(padded->size(), 2);
  EXPECT_EQ(padded->shape(),
            (ImageShape{.channels = 1, .height = 4, .width = 4}));
  std::vector<float> pixels(16);
  EXPECT_EQ(*padded->Read(0, pixels), 7);
  EXPECT_EQ(pixels[0], -1.0f);  // padding
  EXPECT_EQ(pixels[6], 1.0f);

  config.set_num_classes(9);
  EXPECT_THAT(OpenDataset(config), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("image 2 has label 9")));

  config.clear_num_classes();
  config.set_fit(RESIZE);
  ASSERT_OK_AND_ASSIGN(const auto resized, OpenDataset(config));
  EXPECT_EQ(*resized->Read(0, pixels), 7);
  EXPECT_EQ(pixels[3], 1.0f);  // stretched to the edge

  config.set_fit(PAD);
  config.set_image_size(1);
  EXPECT_THAT(OpenDataset(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.image_size 1 is too small")));
}

TEST_F(IdxDatasetTest, ReadDatasetLabelsFollowsTheConfig) {
  DataConfig config;
  config.set_idx_labels(labels_);
  EXPECT_THAT(*ReadDatasetLabels(config), ElementsAre(7, 8, 9));
  config.set_max_images(2);
  EXPECT_THAT(*ReadDatasetLabels(config), ElementsAre(7, 8));
  config.set_num_classes(9);
  EXPECT_THAT(ReadDatasetLabels(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("image 2 has label 9")));
  config.set_idx_labels("");
  EXPECT_TRUE(ReadDatasetLabels(config)->empty());
}

TEST_F(IdxDatasetTest, OpenPairsReadsBothFiles) {
  DataConfig config;
  config.set_idx_images(images_);
  config.set_idx_labels(labels_);
  config.set_idx_inputs(
      WritePlain(dir_ / "inputs", IdxBytes({3, 2, 2}, {0, 0, 0, 0,    //
                                                       255, 0, 0, 0,  //
                                                       0, 0, 0, 255})));
  config.set_image_size(2);
  ASSERT_OK_AND_ASSIGN(const auto pairs, OpenPairs(config));
  EXPECT_EQ(pairs->size(), 3);
  EXPECT_EQ(pairs->shape(),
            (ImageShape{.channels = 2, .height = 2, .width = 2}));
  std::vector<float> pixels(8);
  EXPECT_EQ(*pairs->Read(1, pixels), 8);
  EXPECT_THAT(pixels, ElementsAre(-0.6f, 0.6f, -1, -1,  // padded
                                  1, -1, -1, -1));

  config.set_idx_inputs(
      WritePlain(dir_ / "few", IdxBytes({2, 1, 2}, {0, 0, 0, 0})));
  EXPECT_THAT(OpenPairs(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data.idx_images and data.idx_inputs: pairs: "
                                 "3 images and 2")));
}

}  // namespace
}  // namespace gandem
