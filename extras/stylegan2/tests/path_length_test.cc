// SPDX-License-Identifier: Apache-2.0
#include "extras/stylegan2/path_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "models/torch.h"

namespace gandem {
namespace {

// Images of 2 x 2 pixels: A times the sum of the styles of two layers, times a
// factor that grows with the first number of the first style.
StyledImages Made(const at::Tensor& styles_NLS, const at::Tensor& a_PS) {
  const at::Tensor factor_N1 = 1 + styles_NLS.select(1, 0).narrow(1, 0, 1);
  return {.images_NCHW = (factor_N1 * at::matmul(styles_NLS.sum(1), a_PS.t()))
                             .view({styles_NLS.size(0), 1, 2, 2}),
          .styles_NLS = styles_NLS};
}

double Mean(const PathLengthPenalty& paths) {
  return paths.State().front().second.item<double>();
}

TEST(PathLengthPenaltyTest, LengthsEqualThoseOfTheDerivative) {
  torch::manual_seed(3);
  const auto options = torch::dtype(torch::kFloat64);
  const at::Tensor a_PS = torch::randn({4, 3}, options);
  const at::Tensor styles_NLS =
      torch::randn({2, 2, 3}, options).requires_grad_(true);
  const at::Tensor direction_NCHW = torch::randn({2, 1, 2, 2}, options);
  const at::Tensor lengths_N =
      PathLengthPenalty::Lengths(Made(styles_NLS, a_PS), direction_NCHW);
  // Computes central differences for each image and layer.
  const torch::NoGradGuard no_grad;
  constexpr double kStep = 1e-6;
  for (int n = 0; n < 2; ++n) {
    double squares = 0;
    for (int layer = 0; layer < 2; ++layer) {
      for (int i = 0; i < 3; ++i) {
        double moved[2];
        for (const int side : {0, 1}) {
          at::Tensor other_NLS = styles_NLS.clone();
          other_NLS[n][layer][i] += side == 0 ? -kStep : kStep;
          moved[side] = (Made(other_NLS, a_PS).images_NCHW[n] *
                         direction_NCHW[n] / 2)  // sqrt(2 * 2 pixels)
                            .sum()
                            .item<double>();
        }
        const double slope = (moved[1] - moved[0]) / (2 * kStep);
        squares += slope * slope;
      }
    }
    EXPECT_NEAR(lengths_N[n].item<double>(), std::sqrt(squares / 2), 1e-7);
  }
}

TEST(PathLengthPenaltyTest, LossUsesTheMeanBeforeTheStep) {
  PathLengthPenalty paths({.weight = 2, .every_steps = 4}, /*share=*/1,
                          at::kCPU);
  EXPECT_EQ(Mean(paths), 0);
  const auto loss = [&](std::vector<double> lengths, int64_t images) {
    return paths.Loss(torch::tensor(lengths, torch::kFloat64), images)
        .item<double>();
  };
  // In two micro-batches.
  EXPECT_NEAR(loss({1, 2}, 3) + loss({6}, 3), 8 * (1 + 4 + 36) / 3.0, 1e-12);
  EXPECT_EQ(Mean(paths), 0);  // until the step ends
  paths.EndStep();
  EXPECT_NEAR(Mean(paths), 0.01 * 3, 1e-12);
  EXPECT_NEAR(loss({1.03}, 1), 8 * 1.0, 1e-12);
  paths.EndStep();
  EXPECT_NEAR(Mean(paths), 0.99 * 0.03 + 0.01 * 1.03, 1e-12);
}

// The means of the ranks, weighted by their shares, equal that of one worker.
TEST(PathLengthPenaltyTest, RanksCombineTheirMeansByShare) {
  PathLengthPenalty one({.weight = 1}, 1, at::kCPU);
  (void)one.Loss(torch::tensor({1.0, 2.0, 6.0}), 3);
  one.EndStep();
  // The ranks have 3 and 2 images of a step, of which 2 and 1 are measured.
  PathLengthPenalty first({.weight = 1}, 0.6, at::kCPU);
  (void)first.Loss(torch::tensor({1.0, 2.0}), 3);
  first.EndStep();
  PathLengthPenalty second({.weight = 1}, 0.4, at::kCPU);
  (void)second.Loss(torch::tensor({6.0}), 3);
  second.EndStep();
  EXPECT_NEAR(0.6 * Mean(first) + 0.4 * Mean(second), Mean(one), 1e-12);
}

TEST(PathLengthPenaltyTest, AStepOutOfRangeLeavesTheMean) {
  PathLengthPenalty paths({.weight = 1}, 1, at::kCPU);
  (void)paths.Loss(torch::tensor({3.0}), 1);
  paths.EndStep();
  (void)paths.Loss(torch::tensor({std::numeric_limits<double>::infinity()}), 1);
  paths.EndStep();
  EXPECT_NEAR(Mean(paths), 0.03, 1e-12);
}

// The mean includes the lengths of both micro-batches, and the gradient passes
// through it.
TEST(PathLengthPenaltyTest, SeparateUsesTheUpdatedMean) {
  const at::Tensor lengths_N =
      torch::tensor({1.0, 2.5, 6.0, 0.5}, torch::kFloat64).requires_grad_(true);
  const at::Tensor mean = 0.99 * 3 + 0.01 * lengths_N.mean();
  const at::Tensor loss = 8 * (lengths_N - mean).square().mean();
  const at::Tensor gradient =
      torch::autograd::grad({loss}, {lengths_N}).front();
  PathLengthPenalty paths({.weight = 2, .every_steps = 4, .separate = true},
                          /*share=*/1, at::kCPU);
  paths.State().front().second.fill_(3);
  paths.MoveMean(2.5);
  EXPECT_NEAR(Mean(paths), mean.item<double>(), 1e-12);
  const at::Tensor first = paths.Loss(lengths_N.narrow(0, 0, 3), 4);
  const at::Tensor second = paths.Loss(lengths_N.narrow(0, 3, 1), 4);
  EXPECT_NEAR((first + second).item<double>(), loss.item<double>(), 1e-12);
  EXPECT_TRUE(
      at::allclose(torch::autograd::grad({first + second}, {lengths_N}).front(),
                   gradient, 1e-12, 1e-12));
}

TEST(PathLengthPenaltyTest, IsDueInEveryNthStep) {
  const PathLengthOptions options = {.weight = 2, .every_steps = 3};
  EXPECT_TRUE(options.Due(0));
  EXPECT_FALSE(options.Due(2));
  EXPECT_TRUE(options.Due(3));
  EXPECT_FALSE(PathLengthOptions{}.Due(0));
}

}  // namespace
}  // namespace gandem
