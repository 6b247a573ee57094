// SPDX-License-Identifier: Apache-2.0
#include "training/adam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// Two parameters, one of them an image kernel; deterministic gradients.
class Toy : public torch::nn::Module {
 public:
  explicit Toy(torch::TensorOptions options = torch::kFloat64) {
    kernel =
        register_parameter("kernel", Ramp({3, 4, 5, 5}, 7).to(options.dtype()));
    scale = register_parameter("scale", Ramp({6}, 3).to(options.dtype()));
  }
  static at::Tensor Ramp(at::IntArrayRef shape, int64_t step) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    const at::Tensor ints = torch::arange(count, torch::kInt64);
    return ((ints * step).remainder(17).to(torch::kFloat64) / 16 - 0.5)
        .view(shape);
  }
  void SetGradients(int64_t step) {
    for (at::Tensor& parameter : parameters()) {
      parameter.mutable_grad() =
          (Ramp(parameter.sizes(), step + 2) * 4).to(parameter.dtype());
    }
  }

  at::Tensor kernel;
  at::Tensor scale;
};

std::unique_ptr<Adam> MakeAdam(const Adam::Options& options,
                               const torch::nn::Module& network) {
  auto adam = Adam::Create(options, network);
  EXPECT_OK(adam);
  return *std::move(adam);
}

std::map<std::string, at::Tensor> StateOf(const Optimizer& optimizer) {
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : optimizer.State()) state[name] = tensor;
  return state;
}

TEST(AdamTest, EqualsLibTorchOver100Steps) {
  const std::vector<Adam::Options> cases = {
      {.learning_rate = 2e-3, .beta1 = 0.5, .beta2 = 0.999, .eps = 1e-8},
      {.learning_rate = 1e-3, .beta1 = 0, .beta2 = 0.9, .eps = 1e-2},
      {.learning_rate = 1e-2, .beta1 = 0.9, .weight_decay = 0.1},
  };
  for (const Adam::Options& options : cases) {
    Toy ours;
    Toy theirs;
    const auto adam = MakeAdam(options, ours);
    torch::optim::Adam reference(
        theirs.parameters(), torch::optim::AdamOptions(options.learning_rate)
                                 .betas({options.beta1, options.beta2})
                                 .eps(options.eps)
                                 .weight_decay(options.weight_decay));
    for (int64_t step = 0; step < 100; ++step) {
      ours.SetGradients(step);
      theirs.SetGradients(step);
      ASSERT_OK(adam->Step());
      reference.step();
    }
    EXPECT_TRUE(at::allclose(ours.kernel, theirs.kernel, 1e-9, 1e-12));
    EXPECT_TRUE(at::allclose(ours.scale, theirs.scale, 1e-9, 1e-12));
  }
}

// The kernel walks over plain memory, so strides that differ would be mixed up.
TEST(AdamTest, MemoryLayoutsChangeNothing) {
  Toy plain(torch::kFloat32);
  Toy permuted(torch::kFloat32);
  permuted.kernel.set_data(
      permuted.kernel.contiguous(at::MemoryFormat::ChannelsLast));
  const auto plain_adam = MakeAdam({.beta1 = 0.5}, plain);
  const auto permuted_adam = MakeAdam({.beta1 = 0.5}, permuted);
  for (int64_t step = 0; step < 4; ++step) {
    plain.SetGradients(step);
    permuted.SetGradients(step);
    if (step % 2 == 0) {
      at::Tensor& gradient = permuted.kernel.mutable_grad();
      gradient = gradient.contiguous(at::MemoryFormat::ChannelsLast);
    }
    ASSERT_OK(plain_adam->Step());
    ASSERT_OK(permuted_adam->Step());
  }
  EXPECT_TRUE(permuted.kernel.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::allclose(plain.kernel, permuted.kernel, 1e-6, 0));
}

TEST(AdamTest, MissingGradientNamesTheParameterAndChangesNothing) {
  Toy toy;
  const auto adam = MakeAdam({}, toy);
  toy.SetGradients(0);
  toy.scale.mutable_grad().reset();
  const at::Tensor before = toy.kernel.detach().clone();
  EXPECT_THAT(adam->Step(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("parameter scale has no")));
  EXPECT_TRUE(at::equal(toy.kernel, before));
  EXPECT_EQ(StateOf(*adam)["step"].item<float>(), 0);
}

TEST(AdamTest, ZeroGradientsForgets) {
  Toy toy;
  const auto adam = MakeAdam({}, toy);
  toy.SetGradients(0);
  adam->ZeroGradients();
  EXPECT_FALSE(toy.kernel.grad().defined());
  EXPECT_FALSE(adam->Step().ok());
}

TEST(AdamTest, StateRestoresTheRunToTheBit) {
  Toy straight(torch::kFloat32);
  Toy resumed(torch::kFloat32);
  const Adam::Options options = {.beta1 = 0.5};
  const auto adam = MakeAdam(options, straight);
  for (int64_t step = 0; step < 3; ++step) {
    straight.SetGradients(step);
    ASSERT_OK(adam->Step());
  }
  const auto saved = StateOf(*adam);
  EXPECT_EQ(saved.size(), 5);
  EXPECT_EQ(saved.at("exp_avg.kernel").sizes(), straight.kernel.sizes());
  EXPECT_EQ(saved.at("step").item<float>(), 3);

  const auto second = MakeAdam(options, resumed);
  {
    const torch::NoGradGuard no_grad;
    resumed.kernel.copy_(straight.kernel);
    resumed.scale.copy_(straight.scale);
    for (auto& [name, tensor] : second->State()) tensor.copy_(saved.at(name));
  }
  for (int64_t step = 3; step < 6; ++step) {
    straight.SetGradients(step);
    resumed.SetGradients(step);
    ASSERT_OK(adam->Step());
    ASSERT_OK(second->Step());
  }
  EXPECT_TRUE(at::equal(straight.kernel, resumed.kernel));
  EXPECT_TRUE(at::equal(straight.scale, resumed.scale));
}

TEST(AdamTest, CreateNamesEveryFault) {
  const Toy toy;
  EXPECT_THAT(
      Adam::Create({.learning_rate = -1, .beta1 = 1, .eps = 0}, toy),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::AllOf(HasSubstr("learning_rate -1"),
                                HasSubstr("beta1 1 "), HasSubstr("eps 0 "))));
}

TEST(OptimizerTest, MadeFromConfig) {
  Toy toy;
  OptimizerConfig config;
  config.mutable_adam()->set_learning_rate(0.25);
  ASSERT_OK_AND_ASSIGN(const auto optimizer, MakeOptimizer(config, toy));
  const at::Tensor before = toy.scale.detach().clone();
  toy.SetGradients(0);
  ASSERT_OK(optimizer->Step());
  // Adam's first step has the length of the learning rate.
  EXPECT_NEAR((toy.scale.detach() - before).abs().max().item<double>(), 0.25,
              1e-6);
}

TEST(OptimizerTest, FamilyIsRequired) {
  EXPECT_THAT(MakeOptimizer(OptimizerConfig(), Toy()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace gandem
