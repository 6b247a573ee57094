// SPDX-License-Identifier: Apache-2.0
//
// Images with random or constant noise inputs (StyleGAN2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checkpoint/checkpoint_files.h"
#include "common/files/metric_card.h"
#include "evaluation/images/generated_images.h"
#include "evaluation/images/load_generator.h"
#include "evaluation/images/sample_noise.h"
#include "models/torch.h"
#include "tests/evaluation/commands/small_run.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr uint64_t kNoiseInputsSeed = 3;

// A loaded generator whose noise inputs have a visible strength; they start
// with a strength of 0.
LoadedGenerator LoadNoisy(const std::string& run_dir) {
  LoadedGenerator loaded = *LoadGenerator(run_dir, std::nullopt);
  const torch::NoGradGuard no_grad;
  for (auto& item : loaded.network->named_parameters()) {
    if (item.key().ends_with("strength")) item.value().fill_(0.5);
  }
  EXPECT_OK(UseConditions(kNoiseInputsSeed, std::nullopt, loaded));
  return loaded;
}

at::Tensor NoisyImages(const LoadedGenerator& loaded, IndexRange range) {
  const torch::NoGradGuard no_grad;
  const Condition condition = *loaded.conditions(Purpose::kSample, 0, range);
  // All images have the same noise, so they differ only by noise inputs.
  return loaded.network->forward(torch::ones({range.count, 6}), condition,
                                 ForwardMode::kEvaluate);
}

TEST(NoiseInputsTest, RandomOnesDependOnSeedAndImage) {
  const testing::TempDir run;
  testing::WriteCheckpoint(run.path(), testing::SmallStylegan2Config(), 10);
  LoadedGenerator constant = LoadNoisy(run.path());
  ASSERT_OK(UseNoiseInputs(/*random=*/false, kNoiseInputsSeed, constant));
  const at::Tensor equal = NoisyImages(constant, {.first = 0, .count = 3});
  EXPECT_TRUE(equal[0].allclose(equal[2], 0, 1e-6));

  LoadedGenerator random = LoadNoisy(run.path());
  ASSERT_OK(UseNoiseInputs(/*random=*/true, kNoiseInputsSeed, random));
  const at::Tensor images = NoisyImages(random, {.first = 0, .count = 3});
  EXPECT_GT((images[0] - images[2]).abs().max().item<double>(), 1e-3);
  // Image 2 does not depend on the others.
  EXPECT_TRUE(NoisyImages(random, {.first = 2, .count = 2})[0].allclose(
      images[2], 0, 1e-6));

  LoadedGenerator other = LoadNoisy(run.path());
  ASSERT_OK(UseNoiseInputs(/*random=*/true, kNoiseInputsSeed + 1, other));
  EXPECT_GT((NoisyImages(other, {.first = 0, .count = 3}) - images)
                .abs()
                .max()
                .item<double>(),
            1e-3);
}

// The published FID draws noise inputs; constant ones give another FID.
TEST(NoiseInputsTest, TheCardNamesThem) {
  const testing::TempDir run;
  testing::WriteCheckpoint(run.path(), testing::SmallStylegan2Config(), 10);
  ImagesSpec::Generated spec;
  spec.set_checkpoint(CheckpointPath(run.path(), 10));
  SetSampling({}, {}, spec);
  ASSERT_OK_AND_ASSIGN(auto images, OpenGeneratedImages(spec));
  ASSERT_OK_AND_ASSIGN(const ImagesCard constant, images->Describe());
  EXPECT_EQ(constant.generator().noise_inputs(), "const");

  SetSampling({.random_inputs = true}, {}, spec);
  ASSERT_OK_AND_ASSIGN(images, OpenGeneratedImages(spec));
  MetricCard card;
  ASSERT_OK_AND_ASSIGN(*card.mutable_images(), images->Describe());
  EXPECT_EQ(card.images().generator().noise_inputs(), "random");
  EXPECT_NE(card.images().sha256(), constant.sha256());
  EXPECT_THAT(MetricCardText(card), HasSubstr("noise inputs random"));
}

TEST(NoiseInputsTest, NeedsNoiseInputs) {
  const testing::TempDir run;
  testing::WriteCheckpoint(run.path(), testing::SmallConfig(), 10);
  ImagesSpec::Generated spec;
  spec.set_checkpoint(CheckpointPath(run.path(), 10));
  ASSERT_OK_AND_ASSIGN(const auto images, OpenGeneratedImages(spec));
  EXPECT_EQ(images->Describe()->generator().noise_inputs(), "");
  spec.set_random_noise_inputs(true);
  EXPECT_THAT(
      OpenGeneratedImages(spec).status(),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          HasSubstr("--noise random draws the noise inputs of stylegan2")));
}

}  // namespace
}  // namespace gandem
