// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer_norm.h"

#include <gtest/gtest.h>

#include "models/torch.h"
#include "tests/models/network_testing.h"

namespace gandem {
namespace {

using gandem::testing::Ramp;

constexpr int64_t kChannels = 3;
constexpr double kLayerNormEps = 1e-3;

class LayerNormTest : public ::testing::TestWithParam<LayerNorm::Over> {
 protected:
  LayerNormTest()
      : layer_({.num_channels = kChannels,
                .over = GetParam(),
                .eps = kLayerNormEps}) {
    const torch::NoGradGuard no_grad;
    layer_.to(torch::kFloat64);
    layer_.named_parameters()["weight"].copy_(Ramp({kChannels}, 0.9) + 1);
    layer_.named_parameters()["bias"].copy_(Ramp({kChannels}, 0.4));
  }

  std::vector<int64_t> Dimensions() const {
    if (GetParam() == LayerNorm::Over::kPixel) return {1};
    return {1, 2, 3};
  }

  LayerNorm layer_;
};

TEST_P(LayerNormTest, TheResultMatchesTheDefinition) {
  const at::Tensor x = Ramp({2, kChannels, 4, 5}, 0.7) * 3 + 1;
  const at::Tensor mean = x.mean(Dimensions(), /*keepdim=*/true);
  const at::Tensor variance =
      (x - mean).square().mean(Dimensions(), /*keepdim=*/true);
  const auto parameters = layer_.named_parameters();
  const at::Tensor want = (x - mean) / (variance + kLayerNormEps).sqrt() *
                              parameters["weight"].view({1, kChannels, 1, 1}) +
                          parameters["bias"].view({1, kChannels, 1, 1});
  EXPECT_TRUE(
      at::allclose(layer_.forward(x, ForwardMode::kTrain), want, 0, 1e-12));
}

// Batch norm does not have this property (traps.md 7).
TEST_P(LayerNormTest, ImagesDoNotAffectEachOther) {
  const at::Tensor x = Ramp({2, kChannels, 4, 5}, 0.7);
  const at::Tensor both = layer_.forward(x, ForwardMode::kTrain);
  const at::Tensor alone =
      layer_.forward(x.slice(0, 1, 2), ForwardMode::kTrain);
  EXPECT_TRUE(at::allclose(both.slice(0, 1, 2), alone, 0, 1e-12));
}

// A gradient penalty differentiates the gradient with respect to the image.
TEST_P(LayerNormTest, TheGradientIsDifferentiable) {
  at::Tensor x = Ramp({1, kChannels, 2, 2}, 0.7).requires_grad_();
  const auto penalty = [&](const at::Tensor& image) {
    const at::Tensor out =
        layer_.forward(image, ForwardMode::kTrain).pow(3).sum();
    return torch::autograd::grad({out}, {image}, /*grad_outputs=*/{},
                                 /*retain_graph=*/true,
                                 /*create_graph=*/true)[0]
        .square()
        .sum();
  };
  const at::Tensor gradient = torch::autograd::grad({penalty(x)}, {x})[0];
  constexpr double kStep = 1e-5;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const at::Tensor step = torch::zeros_like(x).detach();
    step.view({-1})[i] = kStep;
    const double up =
        penalty((x + step).detach().requires_grad_()).item<double>();
    const double down =
        penalty((x - step).detach().requires_grad_()).item<double>();
    EXPECT_NEAR(gradient.view({-1})[i].item<double>(),
                (up - down) / (2 * kStep),
                1e-5 * gradient.norm().item<double>());
  }
}

INSTANTIATE_TEST_SUITE_P(Over, LayerNormTest,
                         ::testing::Values(LayerNorm::Over::kImage,
                                           LayerNorm::Over::kPixel));

}  // namespace
}  // namespace gandem
