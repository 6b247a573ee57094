// SPDX-License-Identifier: Apache-2.0
//
// Compares recomputed blocks with a network that keeps its activations: all
// numbers are equal bit for bit.
#include "models/layers/recompute.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "models/autocast.h"
#include "models/layers/layer.h"
#include "models/layers/parameter_weights.h"
#include "models/layers/weighted.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Waves;

constexpr DataShape kRecomputeData = {
    .image = {.channels = 1, .height = 32, .width = 32}};

NetworkConfig Config() {
  NetworkConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "sngan { width: 3 noise_dim: 6 }", &config));
  return config;
}

template <typename Network>
std::shared_ptr<Network> Prepared(std::shared_ptr<Network> network,
                                  bool recompute, bool autocast) {
  InitializeParameters(*network, Config(), 5);
  if (recompute) {
    EXPECT_GT(RecomputeBlocks(*network), 0);
  }
  return autocast ? WithAutocast(network, at::kBFloat16) : network;
}

void ExpectSame(const torch::nn::Module& a, const torch::nn::Module& b) {
  const auto parameters = b.named_parameters();
  for (const auto& item : a.named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_TRUE(at::equal(item.value().grad(), parameters[item.key()].grad()))
        << item.key();
  }
  const auto buffers = b.named_buffers();
  for (const auto& item : a.named_buffers()) {
    EXPECT_TRUE(at::equal(item.value(), buffers[item.key()])) << item.key();
  }
}

class RecomputeTest : public ::testing::TestWithParam<bool> {};  // autocast

// All micro-batches go forward before the first goes backward, so batch norm
// has recorded the statistics of others.
TEST_P(RecomputeTest, GeneratorWithMicroBatchesIsEqual) {
  const auto run = [&](bool recompute) {
    const auto network = Prepared(*MakeGenerator(Config(), kRecomputeData),
                                  recompute, GetParam());
    std::vector<at::Tensor> images;
    for (const double frequency : {0.3, 0.7}) {
      images.push_back(
          network->forward(Waves({3, 6}, frequency), {}, ForwardMode::kTrain));
    }
    for (const at::Tensor& each : images) {
      each.backward(Waves({3, 1, 32, 32}, 0.11));
    }
    return network;
  };
  ExpectSame(*run(true), *run(false));
}

// Spectral norm has iterated its vectors again before the backward pass.
TEST_P(RecomputeTest, DiscriminatorWithTwoForwardsBeforeBackwardIsEqual) {
  const auto run = [&](bool recompute) {
    const auto network = Prepared(*MakeDiscriminator(Config(), kRecomputeData),
                                  recompute, GetParam());
    at::Tensor losses[2];
    for (int i = 0; i < 2; ++i) {
      losses[i] = network
                      ->forward(Waves({3, 1, 32, 32}, 0.3 + 0.4 * i), {},
                                ForwardMode::kTrain)
                      .logits.One()
                      .square()
                      .mean();
    }
    for (const at::Tensor& loss : losses) loss.backward();
    return network;
  };
  ExpectSame(*run(true), *run(false));
}

TEST_P(RecomputeTest, ParameterWeightsAreEqual) {
  const auto run = [&](bool recompute) {
    const auto network = Prepared(*MakeDiscriminator(Config(), kRecomputeData),
                                  recompute, GetParam());
    const at::Tensor weights_N = torch::zeros({3});
    const at::Tensor logits_N = [&] {
      const ParameterWeightsScope scope(weights_N);
      return network
          ->forward(Waves({3, 1, 32, 32}, 0.3).set_requires_grad(true), {},
                    ForwardMode::kTrain)
          .logits.One();
    }();
    weights_N.copy_(torch::tensor({0.5, 0.0, -2.0}));
    logits_N.sum().backward();
    return network;
  };
  ExpectSame(*run(true), *run(false));
}

INSTANTIATE_TEST_SUITE_P(Precisions, RecomputeTest, ::testing::Bool(),
                         [](const auto& info) {
                           return info.param ? "Bfloat16" : "Float32";
                         });

TEST(RecomputeGraphTest, GradientPenaltiesAreEqual) {
  const auto run = [&](bool recompute) {
    const auto network = Prepared(*MakeDiscriminator(Config(), kRecomputeData),
                                  recompute, false);
    const at::Tensor images_NCHW =
        Waves({2, 1, 32, 32}, 0.3).set_requires_grad(true);
    const Verdict verdict =
        network->forward(images_NCHW, {}, ForwardMode::kTrain);
    const at::Tensor gradient =
        torch::autograd::grad({verdict.logits.One().sum()}, {images_NCHW}, {},
                              /*retain_graph=*/true, /*create_graph=*/true)
            .front();
    (verdict.logits.One().mean() + gradient.square().sum()).backward();
    return network;
  };
  const auto recomputed = run(true);
  const auto parameters = run(false)->named_parameters();
  for (const auto& item : recomputed->named_parameters()) {
    const at::Tensor& expected = parameters[item.key()].grad();
    ASSERT_EQ(item.value().grad().defined(), expected.defined()) << item.key();
    // First and second derivatives are added in another order.
    EXPECT_LT((item.value().grad() - expected).norm().item<double>(),
              1e-5 * (1e-3 + expected.norm().item<double>()))
        << item.key();
  }
}

TEST(RecomputeGraphTest, FrozenParametersGetNoGradient) {
  const auto run = [&](bool recompute) {
    const auto network = Prepared(*MakeDiscriminator(Config(), kRecomputeData),
                                  recompute, false);
    for (at::Tensor& parameter : network->parameters()) {
      parameter.set_requires_grad(false);
    }
    const at::Tensor images_NCHW =
        Waves({2, 1, 32, 32}, 0.3).set_requires_grad(true);
    network->forward(images_NCHW, {}, ForwardMode::kFrozen)
        .logits.One()
        .sum()
        .backward();
    for (const at::Tensor& parameter : network->parameters()) {
      EXPECT_FALSE(parameter.grad().defined());
    }
    return images_NCHW.grad();
  };
  EXPECT_TRUE(at::equal(run(true), run(false)));
}

TEST(RecomputeGraphTest, ASequenceOfPlainLayersHasNoBlocks) {
  Sequence sequence;
  sequence.Add(std::make_shared<Linear>(
      Linear::Options{.in_features = 2, .out_features = 2}));
  EXPECT_EQ(sequence.RecomputeBlocks(), 0);
}

}  // namespace
}  // namespace gandem
