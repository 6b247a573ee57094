// SPDX-License-Identifier: Apache-2.0
#include "extras/stylegan2/stylegan2_layers.h"

#include <gtest/gtest.h>

#include <memory>

#include "models/torch.h"

namespace gandem {
namespace {

constexpr int64_t kSize = 8;

at::Tensor NoiseAt(NoiseInput& noise, const DrawPlace& place, int64_t rows,
                   ForwardMode mode = ForwardMode::kTrain) {
  return noise.ForwardGiven(torch::zeros({rows, 2, kSize, kSize}),
                            PlaceOf(Condition{.place = place}), mode);
}

std::unique_ptr<NoiseInput> StrongNoise() {
  auto noise = std::make_unique<NoiseInput>(kSize);
  const torch::NoGradGuard no_grad;
  noise->named_parameters()["strength"].fill_(3);
  noise->named_buffers()["noise_const"].fill_(0.5);
  return noise;
}

// A row depends only on its image: ranks and micro-batches draw the same as one
// pass over the batch.
TEST(Stylegan2LayersTest, NoiseDependsOnlyOnTheImage) {
  const auto noise = StrongNoise();
  DrawPlace place = {.purpose = Purpose::kGeneratorNoise, .step = 5};
  const at::Tensor whole = NoiseAt(*noise, place, /*rows=*/40);
  EXPECT_FALSE(at::equal(whole[0], whole[1]));
  EXPECT_TRUE(at::equal(whole.select(1, 0), whole.select(1, 1)));
  EXPECT_NEAR(whole.select(1, 0).std().item<double>(), 3, 0.3);
  EXPECT_NEAR(whole.mean().item<double>(), 0, 0.3);
  place.first_index = 30;
  EXPECT_TRUE(at::equal(NoiseAt(*noise, place, /*rows=*/10),
                        whole.slice(/*dim=*/0, /*start=*/30)));
  EXPECT_TRUE(at::equal(NoiseAt(*noise, place, 10, ForwardMode::kFrozen),
                        NoiseAt(*noise, place, 10)));
  place.step = 6;
  EXPECT_FALSE(at::equal(NoiseAt(*noise, place, 10),
                         whole.slice(/*dim=*/0, /*start=*/30)));
}

TEST(Stylegan2LayersTest, EvaluationUsesConstantNoise) {
  const auto noise = StrongNoise();
  EXPECT_TRUE(at::equal(NoiseAt(*noise, {}, 3, ForwardMode::kEvaluate),
                        torch::full({3, 2, kSize, kSize}, 1.5)));
}

// 6 images with groups of at most 4 form two groups: 0, 2, 4 and 1, 3, 5.
TEST(Stylegan2LayersTest, DeviationUsesEqualGroups) {
  const at::Tensor images_NCHW =
      torch::tensor({0., 10., 3., 10., 6., 40.}).view({6, 1, 1, 1});
  const at::Tensor with = WithDeviation(images_NCHW, /*group=*/4);
  EXPECT_EQ(with.sizes(), at::IntArrayRef({6, 2, 1, 1}));
  EXPECT_TRUE(at::equal(with.select(1, 0), images_NCHW.select(1, 0)));
  const at::Tensor deviations_N = with.select(1, 1).flatten();
  for (const int64_t i : {0, 2, 4}) {
    EXPECT_NEAR(deviations_N[i].item<double>(), 2.44949, 1e-4) << i;
    EXPECT_NEAR(deviations_N[i + 1].item<double>(), 14.14214, 1e-4) << i;
  }
}

// A group of one image has deviation 0 and a finite gradient.
TEST(Stylegan2LayersTest, DeviationOfOneImageIsZero) {
  const at::Tensor image_NCHW = torch::ones({1, 2, 3, 3}).requires_grad_();
  const at::Tensor with = WithDeviation(image_NCHW, /*group=*/4);
  EXPECT_NEAR(with.select(1, 2).max().item<double>(), 1e-4, 1e-8);
  with.sum().backward();
  EXPECT_TRUE(at::equal(image_NCHW.grad(), torch::ones({1, 2, 3, 3})));
}

}  // namespace
}  // namespace gandem
