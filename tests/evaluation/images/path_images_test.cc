// SPDX-License-Identifier: Apache-2.0
//
// Pairs of images on the path between two noises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checkpoint/checkpoint_files.h"
#include "evaluation/images/generated_images.h"
#include "models/torch.h"
#include "tests/evaluation/commands/small_run.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

constexpr double kStep = 1e-3;

ImagesSpec::Generated PathSpec(const std::string& run_dir) {
  ImagesSpec::Generated spec;
  spec.set_checkpoint(CheckpointPath(run_dir, 10));
  spec.set_seed(3);
  spec.set_path_epsilon(kStep);
  return spec;
}

TEST(PathImagesTest, BothEndsAreTheGenerators) {
  const testing::TempDir run;
  const RunConfig config = testing::SmallConfig();
  testing::WriteCheckpoint(run.path(), config, 10);
  ImagesSpec::Generated spec = PathSpec(run.path());
  ASSERT_OK_AND_ASSIGN(const auto paths, OpenGeneratedImages(spec));
  EXPECT_EQ(paths->shape().channels, 1);
  ASSERT_OK_AND_ASSIGN(const at::Tensor pairs,
                       paths->Read({.first = 4, .count = 3}));
  ASSERT_EQ(pairs.scalar_type(), at::kFloat);
  ASSERT_EQ(pairs.sizes(), at::IntArrayRef({3, 2, 32, 32}));
  const torch::NoGradGuard no_grad;
  const auto generator = testing::MakeAverage(config, 10);
  const at::Tensor ends = PathNoise(3, {}, 6, {.first = 4, .count = 3}, kStep);
  for (int64_t end = 0; end < 2; ++end) {
    const at::Tensor expected = generator->forward(ends[end].to(at::kFloat), {},
                                                   ForwardMode::kEvaluate);
    EXPECT_LE((pairs.narrow(1, end, 1) - expected).abs().max().item<double>(),
              1e-6);
  }
  const double moved =
      (pairs.select(1, 0) - pairs.select(1, 1)).abs().max().item<double>();
  EXPECT_GT(moved, 0);
  EXPECT_LT(moved, 0.1);
  ASSERT_OK_AND_ASSIGN(const ImagesCard card, paths->Describe());
  EXPECT_EQ(card.quantization(), "none");
  spec.clear_path_epsilon();
  ASSERT_OK_AND_ASSIGN(const auto images, OpenGeneratedImages(spec));
  EXPECT_NE(images->Describe()->sha256(), card.sha256());
}

TEST(PathImagesTest, LargeImagesAreAveragedDown) {
  const testing::TempDir run;
  RunConfig config = testing::SmallConfig();
  config.mutable_data()->set_image_size(512);
  testing::WriteCheckpoint(run.path(), config, 10);
  ASSERT_OK_AND_ASSIGN(const auto paths,
                       OpenGeneratedImages(PathSpec(run.path())));
  EXPECT_EQ(paths->shape().height, 256);
  EXPECT_EQ(paths->shape().width, 256);
}

}  // namespace
}  // namespace gandem
