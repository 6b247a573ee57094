// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/gradient_scaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "models/torch.h"
#include "tests/testing/status_matchers.h"
#include "training/optimizers/gradients.h"
#include "training/optimizers/make_optimizer.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

class GradientScalerTest : public ::testing::Test {
 protected:
  GradientScalerTest() {
    network_.register_parameter("a", torch::zeros({3}));
    network_.register_parameter("b", torch::zeros({2}));
    OptimizerConfig config;
    config.mutable_sgd()->set_learning_rate(1);
    optimizer_ = MakeOptimizer(config, ParametersOf(network_), {});
  }

  void SetGradients(float first) {
    network_.parameters()[0].mutable_grad() =
        torch::tensor({first, 1e-7F, -3.0F});
    network_.parameters()[1].mutable_grad() = torch::tensor({0.5F, 7.0F});
  }
  float Parameter(int tensor) {
    return network_.parameters()[tensor][0].item<float>();
  }

  torch::nn::Module network_;
  std::unique_ptr<Optimizer> optimizer_;
};

TEST_F(GradientScalerTest, APowerOfTwoChangesNoBit) {
  const GradientScaler scaler({.initial_scale = 65536});
  SetGradients(0.1F);
  std::vector<at::Tensor> before;
  for (at::Tensor& parameter : network_.parameters()) {
    before.push_back(parameter.grad().clone());
    parameter.mutable_grad() = scaler.Scale(parameter.grad());
  }
  EXPECT_EQ(network_.parameters()[1].grad()[0].item<float>(), 32768);
  EXPECT_FALSE(scaler.Unscale(network_.parameters()));
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(at::equal(network_.parameters()[i].grad(), before[i]));
  }
}

TEST_F(GradientScalerTest, AnOverflowSkipsTheUpdateAndHalvesTheScale) {
  GradientScaler scaler({.initial_scale = 1024});
  for (const float bad : {kInf, -kInf, std::nanf("")}) {
    SetGradients(bad);
    const double scale = scaler.scale();
    ASSERT_OK_AND_ASSIGN(
        const double norm,
        UpdateNetwork(network_, /*max_norm=*/1e9, *optimizer_, &scaler));
    EXPECT_EQ(norm, 0);
    EXPECT_EQ(scaler.scale(), scale / 2);
    EXPECT_EQ(Parameter(0), 0);
    EXPECT_EQ(Parameter(1), 0);
  }
  EXPECT_EQ(scaler.skipped(), 3);
  SetGradients(128);
  ASSERT_OK(UpdateNetwork(network_, 1e9, *optimizer_, &scaler).status());
  EXPECT_EQ(Parameter(0), -1);  // the scale was 128
  EXPECT_EQ(scaler.skipped(), 3);
}

// Without a limit, a role would skip every update to the end of the run.
TEST_F(GradientScalerTest, RepeatedSkippingEndsWithAnError) {
  GradientScaler scaler({.initial_scale = 65536});
  int skipped = 0;
  absl::Status updated;
  for (; updated.ok() && skipped < 100; ++skipped) {
    SetGradients(kInf);
    updated = UpdateNetwork(network_, 1e9, *optimizer_, &scaler).status();
  }
  EXPECT_THAT(
      updated,
      StatusIs(absl::StatusCode::kOutOfRange,
               HasSubstr("loss scale: the gradient of a is not finite")));
  EXPECT_EQ(skipped, 33);  // from 2^16 to below 2^-16
  EXPECT_EQ(Parameter(0), 0);
}

TEST_F(GradientScalerTest, GradientsAreUnscaledBeforeClipping) {
  GradientScaler scaler({.initial_scale = 4});
  network_.parameters()[0].mutable_grad() = torch::tensor({12.0F, 0.0F, 0.0F});
  network_.parameters()[1].mutable_grad() = torch::tensor({16.0F, 0.0F});
  ASSERT_OK_AND_ASSIGN(const double norm,
                       UpdateNetwork(network_, 2.5, *optimizer_, &scaler));
  EXPECT_NEAR(norm, 5, 1e-6);
  EXPECT_NEAR(Parameter(0), -1.5, 1e-5);
}

TEST_F(GradientScalerTest, TheScaleGrowsAfterConsecutiveUpdates) {
  GradientScaler scaler({.initial_scale = 8, .growth_interval = 3});
  const auto scales = [&](std::initializer_list<bool> steps) {
    std::vector<double> result;
    for (const bool found_inf : steps) {
      scaler.Update(found_inf);
      result.push_back(scaler.scale());
    }
    return result;
  };
  EXPECT_THAT(scales({false, false, false}), ::testing::ElementsAre(8, 8, 16));
  EXPECT_THAT(scales({false, false, true, false, false, false}),
              ::testing::ElementsAre(16, 16, 8, 8, 8, 16));
}

TEST_F(GradientScalerTest, TheScaleStopsGrowingAtTheLimitOfFloat) {
  GradientScaler scaler({.initial_scale = 0x1p127, .growth_interval = 1});
  scaler.Update(false);
  EXPECT_EQ(scaler.scale(), 0x1p127);
}

TEST_F(GradientScalerTest, TheSavedStateIsComplete) {
  const GradientScaler::Options options = {.initial_scale = 8,
                                           .growth_interval = 3};
  GradientScaler scaler(options);
  scaler.Update(true);
  scaler.Update(false);
  scaler.Update(false);
  std::vector<NamedTensor> saved;
  AppendTensors("scaler.", scaler.State(), saved);
  GradientScaler copy(options);
  ASSERT_OK(TensorReader(saved).Load("scaler.", copy.State()));
  copy.Update(false);
  EXPECT_EQ(copy.scale(), 8);  // 8, halved, grown after three updates
  EXPECT_EQ(copy.skipped(), 1);
}

}  // namespace
}  // namespace gandem
