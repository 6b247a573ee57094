// SPDX-License-Identifier: Apache-2.0
//
// Compares the augmentations of ADA with an independent PyTorch script
// (tests/oracles/ada_goldens.py), and checks their invariants.
#include "extras/ada/ada_pipeline.h"

#include <gtest/gtest.h>

#include <string>

#include "models/torch.h"
#include "tests/models/golden.h"
#include "training/objective/diff_augment.h"

namespace gandem {
namespace {

using gandem::testing::Golden;
using gandem::testing::RelativeError;

constexpr double kAdaTolerance = 1e-8;

at::Tensor AdaPictures(int64_t count, int64_t channels = 3) {
  torch::manual_seed(4);
  return torch::rand({count, channels, 12, 16}) * 2 - 1;
}

class AdaGoldenTest : public ::testing::TestWithParam<std::string> {};

// Compares values and gradients with respect to the images.
TEST_P(AdaGoldenTest, EqualsTheScript) {
  const Golden golden("ada.safetensors");
  const auto get = [&](const std::string& name) {
    return golden.Get(GetParam() + "." + name);
  };
  const at::Tensor images = get("images").set_requires_grad(true);
  const at::Tensor seen =
      AdaAugment(images, get("p").item<double>(), get("draws"));
  (seen * get("probe")).sum().backward();
  const at::Tensor expected = get("seen");
  const at::Tensor gradient = get("gradient");
  ASSERT_EQ(seen.sizes(), expected.sizes());
  for (int64_t i = 0; i < images.size(0); ++i) {
    EXPECT_LE(RelativeError(seen[i], expected[i]), kAdaTolerance) << i;
    EXPECT_LE(RelativeError(images.grad()[i], gradient[i]), kAdaTolerance) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, AdaGoldenTest,
                         ::testing::Values("alone", "some", "all", "gray"),
                         [](const auto& info) { return info.param; });

// An image has the same bits alone and in a batch, in float32 as well.
TEST(AdaPipelineTest, MicroBatchesChangeNothing) {
  for (const int64_t channels : {1, 3}) {
    const at::Tensor images = AdaPictures(6, channels);
    const at::Tensor draws = UniformDraws({.seed = 3}, 6, kAdaDraws);
    const at::Tensor whole = AdaAugment(images, 0.6, draws);
    for (int64_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(whole.narrow(0, i, 1).equal(
          AdaAugment(images.narrow(0, i, 1), 0.6, draws.narrow(0, i, 1))));
    }
  }
}

TEST(AdaPipelineTest, WithoutProbabilityNothingChanges) {
  const at::Tensor images = AdaPictures(5);
  const at::Tensor draws = UniformDraws({.seed = 3}, 5, kAdaDraws);
  EXPECT_TRUE(AdaAugment(images, 0, draws).equal(images));
  EXPECT_FALSE(AdaAugment(images, 0.2, draws).equal(images));
}

// A larger p only adds augmentations. An image that p = 0.9 leaves unchanged is
// unchanged for any smaller p.
TEST(AdaPipelineTest, LessProbabilityHitsFewerImages) {
  const at::Tensor images = AdaPictures(64);
  const at::Tensor draws = UniformDraws({.seed = 5}, 64, kAdaDraws);
  const auto changed = [&](double p) {
    return (AdaAugment(images, p, draws) != images).flatten(1).any(1);
  };
  const at::Tensor few = changed(0.02);
  const at::Tensor more = changed(0.1);
  EXPECT_TRUE(more.masked_select(few).all().item<bool>());
  EXPECT_GT(few.sum().item<int64_t>(), 0);
  EXPECT_GT(more.sum().item<int64_t>(), few.sum().item<int64_t>());
  EXPECT_LT(more.sum().item<int64_t>(), 64);
}

TEST(AdaPipelineTest, KeepsTheMemoryLayoutAndType) {
  const at::Tensor draws = UniformDraws({.seed = 3}, 3, kAdaDraws);
  const at::Tensor images = AdaPictures(3).to(at::kDouble);
  const at::Tensor seen = AdaAugment(images, 0.8, draws);
  const at::Tensor other =
      AdaAugment(images.contiguous(at::MemoryFormat::ChannelsLast), 0.8, draws);
  EXPECT_EQ(seen.scalar_type(), at::kDouble);
  EXPECT_TRUE(seen.is_contiguous());
  EXPECT_TRUE(other.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_LE(RelativeError(other, seen), 1e-12);
}

TEST(AdaPipelineTest, OtherChannelsAreRefused) {
  EXPECT_THROW(AdaAugment(AdaPictures(1, 2), 0.5,
                          UniformDraws({.seed = 3}, 1, kAdaDraws)),
               c10::Error);
}

}  // namespace
}  // namespace gandem
