// SPDX-License-Identifier: Apache-2.0
#include "training/state/ema.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/layers/batch_norm.h"
#include "models/layers/weighted.h"
#include "models/torch.h"

namespace gandem {
namespace {

class EmaTest : public ::testing::Test {
 protected:
  EmaTest() : network_({.num_features = 2}), average_({.num_features = 2}) {
    network_.to(torch::kFloat64);
    average_.to(torch::kFloat64);
  }

  // Sets every float tensor to `value` and the counter to `count`.
  void SetNetwork(double value, int64_t count) {
    const torch::NoGradGuard no_grad;
    for (at::Tensor& parameter : network_.parameters()) {
      parameter.fill_(value);
    }
    for (at::Tensor& buffer : network_.buffers()) {
      if (buffer.is_floating_point()) {
        buffer.fill_(value);
      } else {
        buffer.fill_(count);
      }
    }
  }

  void ExpectAverage(double value, int64_t count) {
    for (const auto& item : average_.named_parameters()) {
      EXPECT_NEAR(item.value().min().item<double>(), value, 1e-15)
          << item.key();
      EXPECT_NEAR(item.value().max().item<double>(), value, 1e-15)
          << item.key();
    }
    for (const auto& item : average_.named_buffers()) {
      const double want = item.key() == "num_batches_tracked"
                              ? static_cast<double>(count)
                              : value;
      EXPECT_NEAR(item.value().min().item<double>(), want, 1e-15) << item.key();
    }
  }

  BatchNorm network_;
  BatchNorm average_;
};

TEST_F(EmaTest, TheAverageStartsAsACopy) {
  SetNetwork(3, 5);
  const Ema ema({.decay = 0.9}, network_, average_);
  ExpectAverage(3, 5);
}

TEST_F(EmaTest, AFrozenParameterEqualsItsAverage) {
  SetNetwork(1, 5);
  network_.named_parameters()["weight"].set_requires_grad(false);
  Ema ema({.decay = 0.75}, network_, average_);
  SetNetwork(2, 6);
  ema.Update(/*round=*/0);
  const auto average = average_.named_parameters();
  EXPECT_EQ(average["weight"].min().item<double>(), 2);
  EXPECT_EQ(average["bias"].min().item<double>(), 1.25);
}

TEST_F(EmaTest, ParametersAndBuffersAreAveragedAndCountersCopied) {
  SetNetwork(1, 5);
  Ema ema({.decay = 0.75}, network_, average_);
  SetNetwork(2, 6);
  ema.Update(/*round=*/0);
  ExpectAverage(1.25, 6);
  SetNetwork(-4, 7);
  ema.Update(/*round=*/1);
  ExpectAverage(0.75 * 1.25 - 1, 7);
}

TEST_F(EmaTest, BeforeTheStartTheNetworkIsCopied) {
  SetNetwork(1, 5);
  Ema ema({.decay = 0.5, .start_round = 2}, network_, average_);
  SetNetwork(2, 6);
  ema.Update(/*round=*/1);
  ExpectAverage(2, 6);
  SetNetwork(4, 7);
  ema.Update(/*round=*/2);
  ExpectAverage(3, 7);
}

TEST_F(EmaTest, ADecayOfZeroCopiesToTheBit) {
  Ema ema({.decay = 0}, network_, average_);
  SetNetwork(0.1, 6);
  ema.Update(/*round=*/0);
  EXPECT_TRUE(at::equal(average_.parameters()[0], network_.parameters()[0]));
  SetNetwork(0.7, 6);
  ema.Update(/*round=*/1);
  EXPECT_TRUE(at::equal(average_.parameters()[0], network_.parameters()[0]));
}

TEST_F(EmaTest, TheHalfLifeIsInImages) {
  const Ema ema({.decay = 0.1, .half_life_images = 10000, .batch_size = 32},
                network_, average_);
  // models.md 6.1: half-life 10 kimg with batch 32.
  EXPECT_NEAR(ema.Decay(/*round=*/7), 0.997784, 5e-7);
  SetNetwork(0, 0);
  Ema half({.half_life_images = 64, .batch_size = 64}, network_, average_);
  SetNetwork(1, 1);
  half.Update(/*round=*/0);
  ExpectAverage(0.5, 1);
}

TEST_F(EmaTest, TheRampUpShortensTheHalfLifeAtFirst) {
  SetNetwork(1, 5);
  Ema ema({.half_life_images = 10000, .ramp_up = 0.05, .batch_size = 100},
          network_, average_);
  // There are no images before round 0, so the network is copied.
  EXPECT_EQ(ema.Decay(0), 0);
  SetNetwork(3, 6);
  ema.Update(/*round=*/0);
  ExpectAverage(3, 6);
  // 0.05 * 40 * 100 images, two batches.
  EXPECT_NEAR(ema.Decay(40), std::exp2(-0.5), 1e-15);
  EXPECT_NEAR(ema.Decay(2000), std::exp2(-0.01), 1e-15);
  EXPECT_NEAR(ema.Decay(9000), std::exp2(-0.01), 1e-15);
}

TEST_F(EmaTest, TheHalfLifeIsReachedOnHalfACosine) {
  const Ema ema({.half_life_images = 1000,
                 .half_life_ramp_images = 800,
                 .batch_size = 100},
                network_, average_);
  EXPECT_EQ(ema.Decay(0), 0);
  EXPECT_NEAR(ema.Decay(4), std::exp2(-0.2), 1e-15);
  EXPECT_NEAR(ema.Decay(8), std::exp2(-0.1), 1e-15);
  EXPECT_NEAR(ema.Decay(100), std::exp2(-0.1), 1e-15);
}

TEST_F(EmaTest, BuffersMayBeCopiedInsteadOfAveraged) {
  SetNetwork(1, 5);
  Ema ema({.decay = 0.75, .copy_buffers = true}, network_, average_);
  SetNetwork(2, 6);
  ema.Update(/*round=*/0);
  EXPECT_NEAR(average_.parameters()[0].min().item<double>(), 1.25, 1e-15);
  EXPECT_EQ(average_.named_buffers()["running_mean"].min().item<double>(), 2);
  EXPECT_EQ(average_.named_buffers()["num_batches_tracked"].item<int64_t>(), 6);
}

TEST_F(EmaTest, TheNetworkIsUnchanged) {
  SetNetwork(1, 5);
  Ema ema({.decay = 0.75}, network_, average_);
  SetNetwork(2, 6);
  ema.Update(/*round=*/0);
  EXPECT_EQ(network_.parameters()[0].min().item<double>(), 2);
  EXPECT_TRUE(network_.parameters()[0].requires_grad());
}

TEST_F(EmaTest, CopyNetworkConvertsTypes) {
  SetNetwork(0.1, 5);
  BatchNorm narrow({.num_features = 2});
  CopyNetwork(network_, narrow);
  EXPECT_EQ(narrow.parameters()[0].min().item<float>(), 0.1F);
  EXPECT_EQ(narrow.named_buffers()["num_batches_tracked"].item<int64_t>(), 5);
}

// models.md 6.2, traps.md 17: averaged u and v are not unit vectors, so using
// them unchanged would divide by too small a sigma.
TEST(EmaSpectralNormTest, EvaluationOfTheAverageUsesTheRightSigma) {
  const Linear::Options options = {.in_features = 12,
                                   .out_features = 10,
                                   .bias = false,
                                   .spectral_norm = true};
  Linear network(options);
  Linear average(options);
  network.to(torch::kFloat64);
  average.to(torch::kFloat64);
  const torch::NoGradGuard no_grad;
  at::Tensor weight = network.named_parameters()["weight"];
  const at::Tensor ramp = torch::arange(120, torch::kFloat64).view({10, 12});
  const at::Tensor input = torch::eye(12, torch::kFloat64);
  Ema ema({.decay = 0.98}, network, average);
  for (int round = 0; round < 400; ++round) {
    // The direction of the largest singular value changes, as in training.
    weight.copy_((ramp * 0.7 + 0.05 * round).sin() + (ramp * ramp).cos());
    network.forward(input, ForwardMode::kTrain);
    ema.Update(round);
  }
  const at::Tensor averaged = average.named_parameters()["weight"];
  const auto buffers = average.named_buffers();
  const double truth = at::linalg_svdvals(averaged).max().item<double>();
  const double stored =
      buffers["weight_u"].dot(averaged.mv(buffers["weight_v"])).item<double>();
  EXPECT_LT(stored, 0.9 * truth);
  const at::Tensor used = average.forward(input, ForwardMode::kEvaluate).t();
  const double sigma = (averaged.norm() / used.norm()).item<double>();
  EXPECT_NEAR(sigma, truth, 0.02 * truth);
}

}  // namespace
}  // namespace gandem
