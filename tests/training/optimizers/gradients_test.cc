// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>

#include <cmath>
#include <limits>

#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "training/optimizers/make_optimizer.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

// Gradients (3, 0) and (0, -4) with norm 5. A third parameter has none.
class GradientsTest : public ::testing::Test {
 protected:
  GradientsTest() {
    for (const char* name : {"a", "b", "c"}) {
      network_.register_parameter(name, torch::zeros({2}));
    }
    network_.parameters()[0].mutable_grad() = torch::tensor({3.0F, 0.0F});
    network_.parameters()[1].mutable_grad() = torch::tensor({0.0F, -4.0F});
  }
  float Gradient(int parameter, int element) {
    return network_.parameters()[parameter].grad()[element].item<float>();
  }

  torch::nn::Module network_;
};

TEST_F(GradientsTest, TheNormCoversAllParameters) {
  EXPECT_NEAR(GradientNorm(network_), 5, 1e-6);
}

TEST_F(GradientsTest, ClippingReturnsTheOriginalNorm) {
  EXPECT_NEAR(ClipGradientNorm(network_, 2.5), 5, 1e-6);
  EXPECT_NEAR(Gradient(0, 0), 1.5, 1e-6);
  EXPECT_NEAR(Gradient(1, 1), -2, 1e-6);
  EXPECT_EQ(Gradient(0, 1), 0);
  EXPECT_NEAR(GradientNorm(network_), 2.5, 1e-6);
}

TEST_F(GradientsTest, GradientsBelowTheLimitAreUnchanged) {
  EXPECT_NEAR(ClipGradientNorm(network_, 5.1), 5, 1e-6);
  EXPECT_EQ(Gradient(0, 0), 3);
  EXPECT_EQ(Gradient(1, 1), -4);
}

TEST_F(GradientsTest, ClippingEqualsPyTorch) {
  torch::nn::Module twin;
  at::Tensor parameter = twin.register_parameter("p", torch::zeros({100}));
  const at::Tensor gradient = torch::arange(100).to(torch::kFloat32).cos();
  parameter.mutable_grad() = gradient.clone();
  ClipGradientNorm(twin, 0.7);
  const at::Tensor ours = parameter.grad().clone();
  parameter.mutable_grad() = gradient.clone();
  torch::nn::utils::clip_grad_norm_({parameter}, 0.7);
  EXPECT_TRUE(at::allclose(ours, parameter.grad(), 1e-6, 0));
}

// The squares of these gradients exceed the range of float32.
TEST_F(GradientsTest, LargeGradientsHaveANormAndAreClipped) {
  network_.parameters()[0].mutable_grad() = torch::tensor({3e30F, 0.0F});
  network_.parameters()[1].mutable_grad() = torch::tensor({0.0F, -4e30F});
  EXPECT_NEAR(ClipGradientNorm(network_, 5) / 5e30, 1, 1e-6);
  EXPECT_NEAR(Gradient(0, 0), 3, 1e-5);
  EXPECT_NEAR(Gradient(1, 1), -4, 1e-5);
}

TEST_F(GradientsTest, AnUpdateWithANonFiniteGradientChangesNothing) {
  OptimizerConfig config;
  config.mutable_sgd()->set_learning_rate(1);
  const auto optimizer = MakeOptimizer(config, ParametersOf(network_), {});
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    network_.parameters()[1].mutable_grad()[1] = bad;
    EXPECT_THAT(UpdateNetwork(network_, 1, *optimizer, /*scaler=*/nullptr),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr("the gradient of b is not finite")));
    EXPECT_EQ(network_.parameters()[0].abs().sum().item<float>(), 0);
  }
}

TEST_F(GradientsTest, NonFiniteGradientsAreNotScaled) {
  network_.parameters()[0].mutable_grad()[1] =
      std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isinf(ClipGradientNorm(network_, 1)));
  EXPECT_EQ(Gradient(1, 1), -4);
}

TEST_F(GradientsTest, WithoutGradientsTheNormIsZero) {
  const torch::nn::Module empty;
  EXPECT_EQ(ClipGradientNorm(empty, 1), 0);
}

}  // namespace
}  // namespace gandem
