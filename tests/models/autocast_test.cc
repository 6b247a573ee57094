// SPDX-License-Identifier: Apache-2.0
#include "models/autocast.h"

#include <ATen/autocast_mode.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "models/layers/batch_norm.h"
#include "models/layers/parameter_weights.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Waves;

constexpr DataShape kAutocastData = {
    .image = {.channels = 1, .height = 32, .width = 32}};

double ErrorOfRounding(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

// The test parameter is the type that products are cast to.
class AutocastTest : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "sndcgan { width: 4 noise_dim: 6 }", &config_));
  }

  std::shared_ptr<Generator> MakeGeneratorTwin() {
    auto network = *MakeGenerator(config_, kAutocastData);
    InitializeParameters(*network, config_, 3);
    return network;
  }
  std::shared_ptr<Discriminator> MakeDiscriminatorTwin() {
    auto network = *MakeDiscriminator(config_, kAutocastData);
    InitializeParameters(*network, config_, 3);
    return network;
  }

  NetworkConfig config_;
};

void ExpectSameState(const torch::nn::Module& a, const torch::nn::Module& b) {
  const auto tensors_a = a.named_parameters();
  const auto tensors_b = b.named_parameters();
  ASSERT_EQ(tensors_a.keys(), tensors_b.keys());
  for (size_t i = 0; i < tensors_a.size(); ++i) {
    EXPECT_EQ(tensors_a[i].value().data_ptr(), tensors_b[i].value().data_ptr());
  }
  ASSERT_EQ(a.named_buffers().keys(), b.named_buffers().keys());
}

TEST_P(AutocastTest, TheCopySharesNamesAndTensors) {
  const auto generator = MakeGeneratorTwin();
  ExpectSameState(*WithAutocast(generator, GetParam()), *generator);
  EXPECT_EQ(WithAutocast(generator, GetParam())->noise_dim(), 6);
  const auto discriminator = MakeDiscriminatorTwin();
  ExpectSameState(*WithAutocast(discriminator, GetParam()), *discriminator);
}

TEST_P(AutocastTest, InputsAndOutputsAreFloatAndProductsAreRounded) {
  const auto generator = MakeGeneratorTwin();
  const at::Tensor noise_NZ = Waves({5, 6}, 0.37);
  const at::Tensor exact =
      generator->forward(noise_NZ, {}, ForwardMode::kFrozen);
  const at::Tensor rounded = WithAutocast(generator, GetParam())
                                 ->forward(noise_NZ, {}, ForwardMode::kFrozen);
  EXPECT_EQ(rounded.scalar_type(), at::kFloat);
  const double error = ErrorOfRounding(rounded, exact);
  // A type of 8 or 11 bits has larger errors than 1e-7, which would mean that
  // nothing was cast.
  EXPECT_GT(error, GetParam() == at::kHalf ? 1e-5 : 1e-4);
  EXPECT_LT(error, GetParam() == at::kHalf ? 1e-2 : 6e-2);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST_P(AutocastTest, GradientsOfParametersAreFloat) {
  const auto discriminator = MakeDiscriminatorTwin();
  const auto wrapped = WithAutocast(discriminator, GetParam());
  const Verdict verdict =
      wrapped->forward(Waves({4, 1, 32, 32}, 0.37), {}, ForwardMode::kTrain);
  EXPECT_EQ(verdict.logits.One().scalar_type(), at::kFloat);
  verdict.logits.One().mean().backward();
  for (const at::Tensor& parameter : discriminator->parameters()) {
    ASSERT_TRUE(parameter.grad().defined());
    EXPECT_EQ(parameter.grad().scalar_type(), at::kFloat);
    EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
  }
}

TEST_P(AutocastTest, ParameterWeightsOfOneChangeNoBit) {
  const auto gradients = [&](const at::Tensor& weights_N) {
    const auto discriminator = MakeDiscriminatorTwin();
    const at::Tensor leaf = Waves({4, 1, 32, 32}, 0.37).set_requires_grad(true);
    const ParameterWeightsScope scope(weights_N);
    WithAutocast(discriminator, GetParam())
        ->forward(leaf, {}, ForwardMode::kTrain)
        .logits.One()
        .sum()
        .backward();
    std::vector<at::Tensor> all = {leaf.grad()};
    for (const at::Tensor& parameter : discriminator->parameters()) {
      all.push_back(parameter.grad());
    }
    return all;
  };
  const auto plain = gradients({});
  const auto weighed = gradients(at::ones({4}));
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(at::equal(weighed[i], plain[i])) << i;
  }
}

// Without the scope, CPUs with AMX can be wrong by more than the norm of the
// result (autocast.h).
TEST_P(AutocastTest, SecondDerivativesOnACpuEqualThoseInFloat) {
  const auto gradients = [](const auto& network) {
    const at::Tensor leaf = Waves({4, 1, 32, 32}, 0.37).set_requires_grad(true);
    const SecondOrderScope scope;
    const Verdict verdict = network->forward(leaf, {}, ForwardMode::kTrain);
    torch::autograd::grad({verdict.logits.One().sum()}, {leaf}, {},
                          /*retain_graph=*/true, /*create_graph=*/true)
        .front()
        .square()
        .sum()
        .backward();
    std::vector<at::Tensor> all;
    for (const at::Tensor& parameter : network->parameters()) {
      if (parameter.grad().defined()) all.push_back(parameter.grad());
    }
    return all;
  };
  const auto exact = gradients(MakeDiscriminatorTwin());
  const auto wrapped =
      gradients(WithAutocast(MakeDiscriminatorTwin(), GetParam()));
  ASSERT_FALSE(exact.empty());
  ASSERT_EQ(wrapped.size(), exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_TRUE(at::equal(wrapped[i], exact[i])) << i;
  }
}

// The vectors depend on the weights only: float32 arithmetic gives the same
// bits with and without autocast.
TEST_P(AutocastTest, SpectralNormIteratesInFloat) {
  const auto plain = MakeDiscriminatorTwin();
  const auto network = MakeDiscriminatorTwin();
  const at::Tensor images_NCHW = Waves({2, 1, 32, 32}, 0.37);
  plain->forward(images_NCHW, {}, ForwardMode::kTrain);
  WithAutocast(network, GetParam())
      ->forward(images_NCHW, {}, ForwardMode::kTrain);
  const auto expected = plain->named_buffers();
  ASSERT_FALSE(expected.is_empty());
  for (const auto& item : network->named_buffers()) {
    EXPECT_EQ(item.value().scalar_type(), at::kFloat);
    EXPECT_TRUE(at::equal(item.value(), expected[item.key()])) << item.key();
  }
}

TEST_P(AutocastTest, BatchNormComputesStatisticsInFloat) {
  BatchNorm layer({.num_features = 3});
  // In GetParam(), the mean of 3.0 and the variance of 0.01 would be wrong by
  // several percent.
  const at::Tensor input =
      (3 + 0.1 * Waves({64, 3, 8, 8}, 0.37)).to(GetParam());
  {
    const AutocastScope scope(
        {.device = at::kCPU, .enabled = true, .dtype = GetParam()});
    layer.forward(input, ForwardMode::kTrain);
  }
  const at::Tensor exact = input.to(at::kDouble);
  const auto buffers = layer.named_buffers();
  const at::Tensor mean = buffers["running_mean"] / 0.1;
  const at::Tensor variance = (buffers["running_var"] - 0.9) / 0.1;
  EXPECT_EQ(buffers["running_mean"].scalar_type(), at::kFloat);
  EXPECT_LT(ErrorOfRounding(mean, exact.mean({0, 2, 3})), 1e-6);
  EXPECT_LT(ErrorOfRounding(variance, exact.var({0, 2, 3})), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Types, AutocastTest,
                         ::testing::Values(at::kBFloat16, at::kHalf),
                         [](const auto& info) {
                           return std::string(c10::toString(info.param));
                         });

TEST(AutocastScopeTest, TheScopeRestoresTheState) {
  const auto enabled = [] {
    return at::autocast::is_autocast_enabled(at::kCPU);
  };
  const at::Tensor matrix = Waves({3, 3}, 0.37);
  {
    const AutocastScope outer(
        {.device = at::kCPU, .enabled = true, .dtype = at::kBFloat16});
    EXPECT_EQ(matrix.mm(matrix).scalar_type(), at::kBFloat16);
    {
      const FullPrecision full_precision;
      EXPECT_EQ(matrix.mm(matrix).scalar_type(), at::kFloat);
    }
    {
      const AutocastScope inner({.device = at::kCPU, .enabled = false});
      EXPECT_FALSE(enabled());
    }
    EXPECT_TRUE(enabled());
    EXPECT_EQ(AutocastState::Current(at::kCPU).dtype, at::kBFloat16);
  }
  EXPECT_FALSE(enabled());
}

}  // namespace
}  // namespace gandem
