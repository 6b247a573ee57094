// SPDX-License-Identifier: Apache-2.0
#include "models/layers/spectral_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/layers/weighted.h"
#include "models/torch.h"
#include "tests/models/network_testing.h"

namespace gandem {
namespace {

using gandem::testing::Ramp;

double LargestSingularValue(const at::Tensor& matrix) {
  return at::linalg_svdvals(matrix).max().item<double>();
}

// A linear map whose forward pass of the identity shows the normalized weight.
class SpectralNormTest : public ::testing::Test {
 protected:
  SpectralNormTest()
      : layer_({.in_features = 2,
                .out_features = 2,
                .bias = false,
                .spectral_norm = true}) {
    layer_.to(torch::kFloat64);
    SetWeight(
        torch::tensor({3.0, 0.0, 0.0, 1.0}, torch::kFloat64).view({2, 2}));
  }

  void SetWeight(const at::Tensor& weight) {
    const torch::NoGradGuard no_grad;
    Weight().copy_(weight);
  }
  at::Tensor Weight() { return layer_.named_parameters()["weight"]; }
  at::Tensor U() { return layer_.named_buffers()["weight_u"]; }
  at::Tensor V() { return layer_.named_buffers()["weight_v"]; }

  // Returns sigma of a weight whose first element is 3.
  double Sigma(ForwardMode mode) {
    const at::Tensor normalized =
        layer_.forward(torch::eye(2, torch::kFloat64), mode).t();
    return 3 / normalized[0][0].item<double>();
  }

  Linear layer_;
};

TEST_F(SpectralNormTest, IterationsHaveKnownValues) {
  for (const double sigma : {2.863564, 2.998173, 2.999977, 3.000000}) {
    EXPECT_NEAR(Sigma(ForwardMode::kTrain), sigma, 1e-6);
  }
}

TEST_F(SpectralNormTest, FrozenUsesTheStoredVectors) {
  const double sigma = Sigma(ForwardMode::kTrain);
  const at::Tensor u = U().clone();
  const at::Tensor v = V().clone();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Sigma(ForwardMode::kFrozen), sigma);
  }
  EXPECT_TRUE(at::equal(U(), u));
  EXPECT_TRUE(at::equal(V(), v));
}

TEST_F(SpectralNormTest, EvaluateIteratesOnCopies) {
  Sigma(ForwardMode::kTrain);
  const at::Tensor u = U().clone();
  const at::Tensor v = V().clone();
  EXPECT_NEAR(Sigma(ForwardMode::kEvaluate), 2.998173, 1e-6);
  EXPECT_NEAR(Sigma(ForwardMode::kEvaluate), 2.998173, 1e-6);
  EXPECT_TRUE(at::equal(U(), u));
  EXPECT_TRUE(at::equal(V(), v));
}

// Averaged vectors are shorter than 1 (models.md 6.2).
TEST_F(SpectralNormTest, EvaluateNormalizesAveragedVectors) {
  for (int i = 0; i < 50; ++i) Sigma(ForwardMode::kTrain);
  U().mul_(0.7);
  V().mul_(0.7);
  EXPECT_NEAR(Sigma(ForwardMode::kFrozen), 3 * 0.49, 1e-6);
  EXPECT_NEAR(Sigma(ForwardMode::kEvaluate), 3, 1e-6);
}

TEST_F(SpectralNormTest, GradientGoesToTheWeightOnly) {
  SetWeight(Ramp({2, 2}));
  const at::Tensor input = Ramp({5, 2});
  layer_.forward(input, ForwardMode::kTrain).square().sum().backward();

  const at::Tensor weight = Weight().detach().clone().requires_grad_();
  const at::Tensor sigma = U().dot(weight.mv(V()));
  at::linear(input, weight / sigma).square().sum().backward();
  EXPECT_TRUE(at::allclose(Weight().grad(), weight.grad(), 1e-12, 1e-14));
}

// traps.md 3: the second forward pass overwrites u and v before the first
// backward pass.
TEST_F(SpectralNormTest, TwoForwardsMayPrecedeOneBackward) {
  SetWeight(Ramp({2, 2}));
  const at::Tensor input = Ramp({5, 2});
  const at::Tensor u0 = U().clone();
  const at::Tensor v0 = V().clone();
  for (const auto mode : {ForwardMode::kTrain, ForwardMode::kFrozen}) {
    std::vector<at::Tensor> separate;
    U().copy_(u0);
    V().copy_(v0);
    for (const double factor : {1.0, -3.0}) {
      Weight().mutable_grad().reset();
      (factor * layer_.forward(input, mode).pow(3).sum()).backward();
      separate.push_back(Weight().grad().clone());
      if (mode == ForwardMode::kFrozen) {
        layer_.forward(input, ForwardMode::kTrain);
      }
    }

    U().copy_(u0);
    V().copy_(v0);
    Weight().mutable_grad().reset();
    const at::Tensor first = layer_.forward(input, mode).pow(3).sum();
    if (mode == ForwardMode::kFrozen) {
      layer_.forward(input, ForwardMode::kTrain);
    }
    const at::Tensor second = layer_.forward(input, mode).pow(3).sum();
    (first - 3 * second).backward();
    EXPECT_TRUE(
        at::allclose(Weight().grad(), separate[0] + separate[1], 1e-12, 1e-14));
  }
}

TEST(SpectralNormConvolutionTest, FindsTheLargestSingularValue) {
  Conv2d layer({.in_channels = 3,
                .out_channels = 5,
                .kernel = 3,
                .bias = false,
                .spectral_norm = true});
  layer.to(torch::kFloat64);
  at::Tensor weight = layer.named_parameters()["weight"];
  const torch::NoGradGuard no_grad;
  weight.copy_(Ramp(weight.sizes()));
  const at::Tensor input = Ramp({1, 3, 8, 8});
  at::Tensor output;
  for (int i = 0; i < 200; ++i) {
    output = layer.forward(input, ForwardMode::kTrain);
  }
  const double sigma = LargestSingularValue(weight.flatten(1));
  EXPECT_TRUE(
      at::allclose(output * sigma, at::conv2d(input, weight), 1e-9, 1e-12));
}

// traps.md 12: rows are output channels, the second dimension of the weight.
TEST(SpectralNormConvolutionTest, TransposedConvolutionsHaveARowPerOutput) {
  ConvTranspose2d layer({.in_channels = 3,
                         .out_channels = 5,
                         .kernel = 4,
                         .stride = 2,
                         .padding = 1,
                         .bias = false,
                         .spectral_norm = true});
  layer.to(torch::kFloat64);
  at::Tensor weight = layer.named_parameters()["weight"];
  const torch::NoGradGuard no_grad;
  weight.copy_(Ramp(weight.sizes()));
  EXPECT_EQ(layer.named_buffers()["weight_u"].numel(), 5);
  EXPECT_EQ(layer.named_buffers()["weight_v"].numel(), 3 * 4 * 4);
  const at::Tensor input = Ramp({1, 3, 4, 4});
  at::Tensor output;
  for (int i = 0; i < 200; ++i) {
    output = layer.forward(input, ForwardMode::kTrain);
  }
  const double sigma =
      LargestSingularValue(weight.permute({1, 0, 2, 3}).flatten(1));
  EXPECT_TRUE(at::allclose(output * sigma,
                           at::conv_transpose2d(input, weight, {}, 2, 1), 1e-9,
                           1e-12));
}

}  // namespace
}  // namespace gandem
