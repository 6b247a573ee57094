// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/gradient_noise.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "models/torch.h"

namespace gandem {
namespace {

// A network with one parameter w of two numbers; the loss of an image is x * w,
// so its gradient is x.
struct NoiseNet : torch::nn::Module {
  NoiseNet() : w(register_parameter("w", torch::zeros({2}, at::kDouble))) {}
  at::Tensor w;
};

class GradientNoiseMeterTest : public ::testing::Test {
 protected:
  // Runs the backward pass of a micro-batch in a step of four images.
  void Backward(GradientNoise::Part part, const at::Tensor& images_N2) {
    meter_.BeforeBackward(part);
    (images_N2.matmul(net_.w).sum() / 4 * scale_).backward();
    meter_.AfterBackward(images_N2.size(0));
  }
  std::vector<GradientNoise> Found() const {
    RoundMetrics metrics;
    meter_.AddTo(metrics);
    return {metrics.gradient_noise().begin(), metrics.gradient_noise().end()};
  }
  static at::Tensor Images(const std::vector<double>& values) {
    return torch::tensor(values, at::kDouble).view({-1, 2});
  }

  NoiseNet net_;
  double scale_ = 1;
  GradientNoiseMeter meter_{&net_, nullptr};
};

// Real images (3, 4), (1, 0) and (1, 2), (3, 2) have the means (2, 2) and (2,
// 2). Generated ones are (0, 4) and (2, 0), (0, 0), (2, 0).
TEST_F(GradientNoiseMeterTest, MicroBatchesOfEachPartAreComparedWithTheWhole) {
  meter_.BeginStep(true, 4);
  Backward(GradientNoise::REAL, Images({3, 4, 1, 0}));
  Backward(GradientNoise::REAL, Images({1, 2, 3, 2}));
  Backward(GradientNoise::GENERATED, Images({0, 4}));
  Backward(GradientNoise::GENERATED, Images({2, 0, 0, 0, 2, 0}));
  const std::vector<GradientNoise> found = Found();
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].part(), GradientNoise::REAL);
  EXPECT_DOUBLE_EQ(found[0].small_images(), 2);
  EXPECT_DOUBLE_EQ(found[0].large_images(), 4);
  EXPECT_DOUBLE_EQ(found[0].small_square(), 8);
  EXPECT_DOUBLE_EQ(found[0].large_square(), 8);
  EXPECT_EQ(found[1].part(), GradientNoise::GENERATED);
  // 1 / mean of 1 / 1 and 1 / 3.
  EXPECT_DOUBLE_EQ(found[1].small_images(), 1.5);
  EXPECT_DOUBLE_EQ(found[1].large_images(), 4);
  // Parts (0, 4) and (4 / 3, 0); whole (1, 1).
  EXPECT_NEAR(found[1].small_square(), (16 + 16.0 / 9) / 2, 1e-12);
  EXPECT_NEAR(found[1].large_square(), 2, 1e-12);
}

TEST_F(GradientNoiseMeterTest, MeasuringChangesNoBitOfTheGradients) {
  const auto gradient = [&](bool is_measured) {
    net_.w.mutable_grad() = at::Tensor();
    meter_.BeginStep(is_measured, 4);
    Backward(GradientNoise::REAL, Images({0.1, 0.7, 1.3, 0.2}));
    Backward(GradientNoise::GENERATED, Images({0.3, 0.9}));
    meter_.BeforeSum(4);
    meter_.AfterSum();
    return net_.w.grad().clone();
  };
  EXPECT_TRUE(at::equal(gradient(true), gradient(false)));
  EXPECT_TRUE(Found().empty());
}

// The rank has one of four images, whose gradient becomes the sum.
TEST_F(GradientNoiseMeterTest, AWorkerIsComparedWithItsFleet) {
  meter_.BeginStep(true, 4);
  Backward(GradientNoise::GENERATED, Images({3, 4}));
  meter_.BeforeSum(1);
  net_.w.mutable_grad().fill_(1);
  meter_.AfterSum();
  const std::vector<GradientNoise> found = Found();
  ASSERT_EQ(found.size(), 1);  // one micro-batch is too few
  EXPECT_EQ(found[0].part(), GradientNoise::ALL);
  EXPECT_DOUBLE_EQ(found[0].small_images(), 1);
  EXPECT_DOUBLE_EQ(found[0].large_images(), 4);
  EXPECT_DOUBLE_EQ(found[0].small_square(), 25);
  EXPECT_DOUBLE_EQ(found[0].large_square(), 2);
}

TEST_F(GradientNoiseMeterTest, TheLossScaleIsDividedOut) {
  GradientScaler scaler({.initial_scale = 1024});
  meter_ = GradientNoiseMeter(&net_, &scaler);
  scale_ = 1024;
  meter_.BeginStep(true, 4);
  Backward(GradientNoise::REAL, Images({3, 4, 3, 4}));
  Backward(GradientNoise::REAL, Images({3, 4, 3, 4}));
  ASSERT_EQ(Found().size(), 1);
  EXPECT_DOUBLE_EQ(Found()[0].small_square(), 25);
}

TEST_F(GradientNoiseMeterTest, NonFiniteGradientsAreSkipped) {
  meter_.BeginStep(true, 4);
  Backward(GradientNoise::REAL,
           Images({std::numeric_limits<double>::infinity(), 0}));
  Backward(GradientNoise::REAL, Images({1, 0}));
  EXPECT_TRUE(Found().empty());
}

TEST_F(GradientNoiseMeterTest, EachStepStartsAnew) {
  meter_.BeginStep(true, 4);
  Backward(GradientNoise::REAL, Images({1, 0}));
  Backward(GradientNoise::REAL, Images({1, 0}));
  EXPECT_EQ(Found().size(), 1);
  meter_.BeginStep(false, 4);
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace gandem
