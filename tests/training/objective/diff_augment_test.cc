// SPDX-License-Identifier: Apache-2.0
#include "training/objective/diff_augment.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr AugmentOptions kAll = {
    .color = true, .translation = 0.125, .cutout = 0.5};

at::Tensor DiffAugmentImages(int64_t count) {
  torch::manual_seed(4);
  return torch::randn({count, 3, 16, 16});
}

TEST(DiffAugmentTest, DrawsComeFromTheDocumentedStreams) {
  const DrawKey key{
      .seed = 9, .purpose = Purpose::kAugmentReal, .step = 3, .first_index = 5};
  const at::Tensor draws = UniformDraws(key, 2, 3);
  for (int64_t i = 0; i < 2; ++i) {
    PhiloxStream stream(9, Purpose::kAugmentReal, 3, 5 + i);
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_EQ(draws[i][k].item<double>(), stream.NextUniform());
    }
  }
}

TEST(DiffAugmentTest, MicroBatchesChangeNothing) {
  const at::Tensor images = DiffAugmentImages(5);
  const DrawKey all{.seed = 1, .purpose = Purpose::kAugmentReal, .step = 2};
  DrawKey tail = all;
  tail.first_index = 2;
  const at::Tensor whole = DiffAugment(images, kAll, all);
  EXPECT_TRUE(whole.narrow(0, 2, 3).equal(
      DiffAugment(images.narrow(0, 2, 3), kAll, tail)));
  EXPECT_FALSE(whole.equal(images));
}

TEST(DiffAugmentTest, EveryPartOfTheKeyChangesTheDraws) {
  const at::Tensor images = DiffAugmentImages(2);
  const DrawKey key{.seed = 1, .purpose = Purpose::kAugmentReal, .step = 2};
  const at::Tensor seen = DiffAugment(images, kAll, key);
  EXPECT_TRUE(seen.equal(DiffAugment(images, kAll, key)));
  for (const DrawKey& other :
       {DrawKey{.seed = 2, .purpose = Purpose::kAugmentReal, .step = 2},
        DrawKey{.seed = 1, .purpose = Purpose::kAugmentJudged, .step = 2},
        DrawKey{.seed = 1, .purpose = Purpose::kAugmentReal, .step = 3}}) {
    EXPECT_FALSE(seen.equal(DiffAugment(images, kAll, other)));
  }
  EXPECT_FALSE(at::equal(seen[0], seen[1]));
}

TEST(DiffAugmentTest, EnablingOneKindDoesNotChangeTheDrawsOfOthers) {
  const at::Tensor images = DiffAugmentImages(3);
  const at::Tensor draws = UniformDraws({.seed = 6}, 3, kAugmentDraws);
  const at::Tensor shifted = DiffAugment(images, {.translation = 0.25}, draws);
  const at::Tensor cut = DiffAugment(images, {.cutout = 0.5}, draws);
  const at::Tensor both =
      DiffAugment(images, {.translation = 0.25, .cutout = 0.5}, draws);
  EXPECT_TRUE(both.equal(at::where(cut == 0, cut, shifted)));
}

TEST(DiffAugmentTest, DisabledAugmentationChangesNothing) {
  const at::Tensor images = DiffAugmentImages(2);
  EXPECT_TRUE(DiffAugment(images, {}, DrawKey{.seed = 1}).is_same(images));
}

TEST(DiffAugmentTest, MemoryLayoutAndTypeAreKept) {
  for (const auto layout :
       {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const at::Tensor images =
        DiffAugmentImages(3).to(at::kDouble).contiguous(layout);
    const at::Tensor seen = DiffAugment(images, kAll, DrawKey{.seed = 1});
    EXPECT_EQ(seen.scalar_type(), at::kDouble);
    EXPECT_TRUE(seen.is_contiguous(layout));
    EXPECT_TRUE(seen.allclose(
        DiffAugment(images.contiguous(), kAll, DrawKey{.seed = 1}),
        /*rtol=*/1e-12, /*atol=*/1e-12));
    EXPECT_TRUE(ConsistencyCopy(images, UniformDraws({}, 3, kConsistencyDraws))
                    .is_contiguous(layout));
  }
}

// Covers the largest shift and a cutout in each corner.
TEST(DiffAugmentTest, ExtremeDrawsAreApplied) {
  const at::Tensor ones = torch::ones({1, 1, 8, 8});
  const auto sum = [&](const AugmentOptions& options, double rows,
                       double columns) {
    const at::Tensor draws =
        torch::tensor({0.5, 0.5, 0.5, rows, columns, rows, columns},
                      torch::kFloat64)
            .view({1, 7});
    return DiffAugment(ones, options, draws).sum().item<double>();
  };
  constexpr double kLast = 0.9999999;
  EXPECT_EQ(sum({.translation = 0.25}, 0, kLast), 36);
  EXPECT_EQ(sum({.translation = 0.25}, 0.5, 0.5), 64);
  EXPECT_EQ(sum({.translation = 0.5}, kLast, 0.5), 32);
  EXPECT_EQ(sum({.cutout = 0.5}, 0, 0), 60);
  EXPECT_EQ(sum({.cutout = 0.5}, kLast, kLast), 60);
  EXPECT_EQ(sum({.cutout = 0.5}, 0.5, 0.5), 48);
  EXPECT_EQ(sum({.cutout = 1}, 0.5, 0.5), 0);
}

TEST(DiffAugmentTest, OptionsAreReadFromTheConfig) {
  AugmentationConfig config;
  EXPECT_FALSE(AugmentFrom(config).any());
  config.set_color(true);
  EXPECT_TRUE(AugmentFrom(config).any());
  config.set_translation(0.125);
  config.set_cutout(0.5);
  EXPECT_TRUE(AugmentFrom(config).color);
  EXPECT_EQ(AugmentFrom(config).translation, 0.125);
  EXPECT_EQ(AugmentFrom(config).cutout, 0.5);
}

}  // namespace
}  // namespace gandem
