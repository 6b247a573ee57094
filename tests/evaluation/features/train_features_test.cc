// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/train_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/files/file.h"
#include "common/files/sha256.h"
#include "evaluation/commands/train_features_command.h"
#include "evaluation/features/feature_extractor.h"
#include "models/torch.h"
#include "pipeline/sources/named_dataset.h"
#include "tests/evaluation/features/classifier_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteQuadrants;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSize = 16;

class TrainFeaturesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(WriteQuadrants(dir_.path(), "train", 640, kSize, 1));
    ASSERT_OK(WriteQuadrants(dir_.path(), "t10k", 128, kSize, 2));
  }

  TrainFeaturesRequest Request() {
    TrainFeaturesRequest request = {.dataset = *FindDataset(dir_.path()),
                                    .cache_dir = dir_ / "cache",
                                    .epochs = 3};
    request.dataset.data.set_image_size(kSize);
    return request;
  }

  gandem::testing::TempDir dir_;
};

TEST_F(TrainFeaturesTest, LearnsAndReportsItsAccuracy) {
  ASSERT_OK_AND_ASSIGN(const TrainFeaturesReport report,
                       TrainFeatures(Request()));
  EXPECT_FALSE(report.cached);
  EXPECT_EQ(report.num_test_images, 128);
  EXPECT_GE(report.test_accuracy, 0.98);
  // The report agrees with the file.
  ASSERT_OK_AND_ASSIGN(
      const auto extractor,
      OpenFeatureExtractor(
          report.path,
          {.image_shape = {.channels = 1, .height = kSize, .width = kSize}}));
  const FeatureNet& net = extractor->net();
  EXPECT_EQ(net.name, report.name);
  EXPECT_EQ(net.sha256, *Sha256OfFile(report.path));
  EXPECT_EQ(net.feature_dim, 128);
  EXPECT_EQ(net.num_classes, 4);
  EXPECT_EQ(DistanceName(net), "FD(" + report.name + ")");
  // The network must find one bright quadrant in black.
  const at::Tensor images_NCHW =
      torch::zeros({4, 1, kSize, kSize}, torch::kByte);
  for (int64_t label = 0; label < 4; ++label) {
    const int64_t top = label / 2 * kSize / 2;
    const int64_t left = label % 2 * kSize / 2;
    images_NCHW[label][0]
        .slice(0, top, top + kSize / 2)
        .slice(1, left, left + kSize / 2)
        .fill_(150);
  }
  ASSERT_OK_AND_ASSIGN(const Features features,
                       extractor->Extract(images_NCHW));
  EXPECT_EQ(features.features_ND.scalar_type(), at::kDouble);
  EXPECT_THAT(features.features_ND.sizes(), ::testing::ElementsAre(4, 128));
  EXPECT_TRUE(features.logits_NK.argmax(1).equal(torch::arange(4)));
}

TEST_F(TrainFeaturesTest, EqualRequestsGetTheSameFile) {
  ASSERT_OK_AND_ASSIGN(const TrainFeaturesReport first,
                       TrainFeatures(Request()));
  ASSERT_OK_AND_ASSIGN(const TrainFeaturesReport again,
                       TrainFeatures(Request()));
  EXPECT_TRUE(again.cached);
  EXPECT_EQ(again.path, first.path);
  EXPECT_EQ(again.name, first.name);
  EXPECT_EQ(again.test_accuracy, first.test_accuracy);
  EXPECT_EQ(again.num_test_images, first.num_test_images);
  EXPECT_THAT(*ListDirectory(dir_ / "cache"), SizeIs(1));

  TrainFeaturesRequest other = Request();
  other.seed = 2;
  ASSERT_OK_AND_ASSIGN(const TrainFeaturesReport of_other,
                       TrainFeatures(other));
  EXPECT_FALSE(of_other.cached);
  EXPECT_NE(of_other.name, first.name);
}

TEST_F(TrainFeaturesTest, TrainingIsAPureFunction) {
  TrainFeaturesRequest elsewhere = Request();
  elsewhere.cache_dir = dir_ / "elsewhere";
  ASSERT_OK_AND_ASSIGN(const TrainFeaturesReport first,
                       TrainFeatures(Request()));
  ASSERT_OK_AND_ASSIGN(const TrainFeaturesReport second,
                       TrainFeatures(elsewhere));
  EXPECT_FALSE(second.cached);
  EXPECT_EQ(*Sha256OfFile(first.path), *Sha256OfFile(second.path));
}

TEST_F(TrainFeaturesTest, ADamagedFileOfTheCacheIsNamed) {
  ASSERT_OK_AND_ASSIGN(const TrainFeaturesReport report,
                       TrainFeatures(Request()));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(report.path));
  ASSERT_OK(WriteFile(report.path, bytes.substr(0, bytes.size() / 2)));
  EXPECT_THAT(TrainFeatures(Request()),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("remove " + report.path)));
}

TEST_F(TrainFeaturesTest, WithoutTestFilesATenthIsHeldOut) {
  ASSERT_OK(RemoveAll(dir_ / "t10k-images-idx3-ubyte"));
  ASSERT_OK_AND_ASSIGN(const TrainFeaturesReport report,
                       TrainFeatures(Request()));
  EXPECT_EQ(report.num_test_images, 64);
  EXPECT_GE(report.test_accuracy, 0.98);
}

TEST_F(TrainFeaturesTest, NamesEveryFault) {
  TrainFeaturesRequest request = Request();
  request.epochs = 0;
  request.threads = 0;
  EXPECT_THAT(TrainFeatures(request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("epochs 0"), HasSubstr("threads 0"))));
}

TEST_F(TrainFeaturesTest, ImagesThatCannotBeLearned) {
  TrainFeaturesRequest unlabeled = Request();
  unlabeled.dataset.data.set_idx_labels("");
  EXPECT_THAT(TrainFeatures(unlabeled),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("without labels use --features FILE")));
  TrainFeaturesRequest tiny = Request();
  tiny.dataset.data.set_fit(RESIZE);
  tiny.dataset.data.set_image_size(4);
  EXPECT_THAT(TrainFeatures(tiny),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("height 4 is not in [8, 1024]")));
  TrainFeaturesRequest one = Request();
  one.dataset.data.set_max_images(1);
  one.dataset.test_images.clear();
  EXPECT_THAT(TrainFeatures(one), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("two classes or more")));
}

TEST_F(TrainFeaturesTest, DatasetsByName) {
  ASSERT_OK_AND_ASSIGN(const NamedDataset folder, FindDataset(dir_.path()));
  EXPECT_EQ(folder.data.idx_images(), dir_ / "train-images-idx3-ubyte");
  EXPECT_EQ(folder.data.idx_labels(), dir_ / "train-labels-idx1-ubyte");
  EXPECT_EQ(folder.test_images, dir_ / "t10k-images-idx3-ubyte");
  EXPECT_EQ(folder.test_labels, dir_ / "t10k-labels-idx1-ubyte");

  const std::string recipe = std::string(std::getenv("GANDEM_SOURCE_DIR")) +
                             "/recipes/fashion_mnist_dcgan.textproto";
  ASSERT_OK_AND_ASSIGN(const NamedDataset named, FindDataset(recipe));
  EXPECT_THAT(named.data.idx_images(), HasSubstr("fashion-mnist/train-"));
  EXPECT_THAT(named.test_images, HasSubstr("fashion-mnist/t10k-images"));

  EXPECT_THAT(FindDataset(dir_ / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  ASSERT_OK(CreateDirectories(dir_ / "empty"));
  EXPECT_THAT(FindDataset(dir_ / "empty"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("train-images-idx3-ubyte")));
}

TEST_F(TrainFeaturesTest, TheCommandReportsOnce) {
  TrainFeaturesFlags flags = {.dataset = dir_.path(),
                              .cache_dir = dir_ / "cache",
                              .epochs = 1,
                              .threads = 1};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(RunTrainFeatures(flags), 0);
  const std::string first = ::testing::internal::GetCapturedStdout();
  // On a slow machine, lines of progress come first.
  EXPECT_THAT(first, AllOf(HasSubstr(dir_ / "cache/classifier-"),
                           HasSubstr("accuracy on 128 test images")));
  EXPECT_THAT(first, ::testing::Not(HasSubstr("already trained")));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(RunTrainFeatures(flags), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              HasSubstr("(already trained)"));
  flags.dataset = dir_ / "none";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(RunTrainFeatures(flags), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("gandem train-features: "));
}

}  // namespace
}  // namespace gandem
