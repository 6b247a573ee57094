// SPDX-License-Identifier: Apache-2.0
//
// Expected numbers come from shape arithmetic.
#include "models/registry/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/conv.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/registry/registry.h"
#include "models/registry/shapes_only.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::ParseNetwork;
using gandem::testing::SquareImages;
using ::testing::ElementsAre;

TEST(SummaryTest, TransposedConvolutionsAreListedInOrder) {
  const DataShape data = SquareImages(3, 32);
  ASSERT_OK_AND_ASSIGN(
      const auto network,
      MakeGenerator(ParseNetwork("dcgan { width: 2 noise_dim: 5 }"), data));
  const NetworkSummary summary = Summarize(*network, data);
  ASSERT_EQ(summary.layers.size(), 7);
  const LayerSummary& first = summary.layers[0];
  EXPECT_EQ(first.name, "main.0");
  EXPECT_EQ(first.kind, "conv_transpose2d");
  EXPECT_THAT(first.output_shape, ElementsAre(8, 4, 4));
  EXPECT_EQ(first.parameters, 5 * 8 * 16);
  EXPECT_EQ(first.multiply_adds, 5 * 8 * 16);
  const LayerSummary& norm = summary.layers[1];
  EXPECT_EQ(norm.name, "main.1");
  EXPECT_EQ(norm.kind, "batch_norm");
  EXPECT_EQ(norm.parameters, 2 * 8);
  EXPECT_EQ(norm.buffers, 2 * 8 + 1);
  EXPECT_EQ(norm.multiply_adds, 0);
  const LayerSummary& last = summary.layers[6];
  EXPECT_THAT(last.output_shape, ElementsAre(3, 32, 32));
  EXPECT_EQ(last.multiply_adds, 2 * 3 * 16 * 16 * 16);
  EXPECT_EQ(summary.multiply_adds, 5 * 8 * 16 + 8 * 4 * 16 * 4 * 4 +
                                       4 * 2 * 16 * 8 * 8 +
                                       2 * 3 * 16 * 16 * 16);
  EXPECT_EQ(summary.activation_bytes,
            4 * (2 * 8 * 16 + 2 * 4 * 64 + 2 * 2 * 256 + 3 * 1024));
  EXPECT_EQ(summary.parameters,
            5 * 8 * 16 + 16 + 8 * 4 * 16 + 8 + 4 * 2 * 16 + 4 + 2 * 3 * 16);
}

// The layer computes with weight / sigma, a separate tensor.
TEST(SummaryTest, SpectralNormLayersAreFoundAndTheirIterationIsNotCounted) {
  const DataShape data = SquareImages(3, 32);
  ASSERT_OK_AND_ASSIGN(
      const auto network,
      MakeDiscriminator(ParseNetwork("sndcgan { width: 2 }"), data));
  const NetworkSummary summary = Summarize(*network, data);
  ASSERT_EQ(summary.layers.size(), 8);
  EXPECT_EQ(summary.layers[1].name, "main.2");
  EXPECT_EQ(summary.layers[1].kind, "conv2d");
  EXPECT_EQ(summary.layers[1].parameters, 2 * 2 * 16 + 2);
  EXPECT_EQ(summary.layers[1].buffers, 2 + 2 * 16);
  EXPECT_EQ(summary.layers[1].multiply_adds, 2 * 16 * 16 * 2 * 16);
  EXPECT_EQ(summary.layers[7].name, "linear");
  EXPECT_THAT(summary.layers[7].output_shape, ElementsAre(1));
  EXPECT_EQ(summary.layers[7].multiply_adds, 16);
}

TEST(SummaryTest, EveryLayerOfEveryFamilyIsNamed) {
  for (const char* config :
       {"mlp { hidden: [4, 4] batch_norm: true }", "dcgan { width: 1 }",
        "sngan { width: 1 }", "keras_dcgan { width: 1 }",
        "keras_dcgan { width: 1 variant: SNGAN }",
        "keras_dcgan { width: 1 variant: WGAN_GP }", "wgan_gp { width: 1 }",
        "pix2pix { width: 1 }", "r3gan { width: 8 groups: 2 }",
        "stylegan2 { channel_base: 64 }"}) {
    const DataShape data = SquareImages(1, 64);
    ASSERT_OK_AND_ASSIGN(const auto generator,
                         MakeGenerator(ParseNetwork(config), data));
    ASSERT_OK_AND_ASSIGN(const auto discriminator,
                         MakeDiscriminator(ParseNetwork(config), data));
    for (const NetworkSummary& summary :
         {Summarize(*generator, data), Summarize(*discriminator, data)}) {
      int64_t parameters = 0;
      for (const LayerSummary& layer : summary.layers) {
        EXPECT_NE(layer.name, "") << config << " " << layer.kind;
        parameters += layer.parameters;
      }
      EXPECT_EQ(parameters, summary.parameters) << config;
    }
  }
}

// The numbers follow from shapes alone.
TEST(SummaryTest, ANetworkWithoutValuesHasTheSameNumbers) {
  for (const NetworkFamily& family : AllFamilies()) {
    if (family.name == "python") continue;
    const NetworkConfig config = ParseNetwork(family.name + " {}");
    for (const auto& [size, num_classes] :
         {std::pair(32, 0), std::pair(32, 10), std::pair(64, 0)}) {
      DataShape data = SquareImages(3, size);
      data.num_classes = num_classes;
      if (!MakeGenerator(config, data).ok()) continue;
      const auto check = [&](auto make) {
        const auto usual = make(config, data);
        ASSERT_OK(usual.status());
        const auto without_values = [&] {
          const ShapesOnly shapes;
          return make(config, data);
        }();
        ASSERT_OK(without_values.status());
        EXPECT_TRUE((*without_values)->parameters().front().is_meta());
        const NetworkSummary expected = Summarize(**usual, data);
        const NetworkSummary got = Summarize(**without_values, data);
        EXPECT_EQ(got.parameters, expected.parameters) << family.name;
        EXPECT_EQ(got.buffers, expected.buffers) << family.name;
        EXPECT_EQ(got.multiply_adds, expected.multiply_adds) << family.name;
        EXPECT_EQ(got.activation_bytes, expected.activation_bytes)
            << family.name;
        ASSERT_EQ(got.layers.size(), expected.layers.size()) << family.name;
        for (size_t i = 0; i < got.layers.size(); ++i) {
          EXPECT_EQ(got.layers[i].name, expected.layers[i].name);
          EXPECT_EQ(got.layers[i].kind, expected.layers[i].kind);
          EXPECT_EQ(got.layers[i].output_shape, expected.layers[i].output_shape)
              << got.layers[i].name;
        }
      };
      check(&MakeGenerator);
      check(&MakeDiscriminator);
      break;
    }
  }
  EXPECT_TRUE(torch::zeros({1}).is_cpu());
}

// A network with layers that no family uses.
class OfWaves : public Discriminator {
 public:
  OfWaves() {
    using torch::nn::Conv1dOptions;
    using torch::nn::ConvTranspose1dOptions;
    down_ = register_module(
        "down", torch::nn::Conv1d(Conv1dOptions(1, 4, 3).stride(2).padding(1)));
    up_ = register_module("up", torch::nn::ConvTranspose1d(
                                    ConvTranspose1dOptions(4, 2, 4).stride(4)));
    deep_ = register_module("deep", torch::nn::Conv3d(2, 1, 1));
    const auto weights = std::make_shared<torch::nn::Module>();
    register_module("weights", weights);
    direction_ = weights->register_parameter("direction", torch::ones({3, 16}));
    length_ = weights->register_parameter("length", torch::ones({3, 1}));
  }

  Verdict forward(const at::Tensor& images_NCHW, const Condition& /*condition*/,
                  ForwardMode /*mode*/) override {
    at::Tensor wave_NCT = down_(images_NCHW.flatten(2));  // 4 x 8
    const at::Tensor heads = wave_NCT.unsqueeze(1);
    wave_NCT = at::scaled_dot_product_attention(heads, heads, heads).squeeze(1);
    const at::Tensor wide = up_(wave_NCT);  // 2 x 32
    const at::Tensor flat =
        deep_(wide.view({-1, 2, 2, 4, 4})).flatten(1).slice(1, 0, 16);
    const at::Tensor weight = at::_weight_norm(direction_, length_, 0);
    return {.logits = Logits({at::linear(flat, weight)})};
  }

 private:
  torch::nn::Conv1d down_ = nullptr;
  torch::nn::ConvTranspose1d up_ = nullptr;
  torch::nn::Conv3d deep_ = nullptr;
  at::Tensor direction_;
  at::Tensor length_;
};

TEST(SummaryTest, OneAndThreeDimensionalConvolutionsAndAttentionAreCounted) {
  const DataShape data = SquareImages(1, 4);
  OfWaves network;
  const NetworkSummary summary = Summarize(network, data);
  std::vector<std::string> kinds;
  for (const LayerSummary& layer : summary.layers) kinds.push_back(layer.kind);
  EXPECT_THAT(kinds,
              ElementsAre("conv1d", "conv_transpose1d", "conv3d", "linear"));
  EXPECT_EQ(summary.layers[0].name, "down");
  EXPECT_EQ(summary.layers[0].multiply_adds, 4 * 8 * 3);
  EXPECT_EQ(summary.layers[1].name, "up");
  EXPECT_EQ(summary.layers[1].multiply_adds, 4 * 8 * 2 * 4);
  EXPECT_EQ(summary.layers[2].name, "deep");
  EXPECT_EQ(summary.layers[2].multiply_adds, 32 * 2);
  EXPECT_EQ(summary.layers[3].name, "weights");
  EXPECT_EQ(summary.layers[3].multiply_adds, 3 * 16);
  EXPECT_EQ(summary.multiply_adds,
            4 * 8 * 3 + 4 * 8 * 2 * 4 + 32 * 2 + 3 * 16 + 2 * (4 * 4 * 8));
}

TEST(SummaryTest, SummarizingChangesNoState) {
  const DataShape data = SquareImages(1, 32);
  ASSERT_OK_AND_ASSIGN(
      const auto network,
      MakeDiscriminator(ParseNetwork("sngan { width: 1 }"), data));
  const auto before = network->named_buffers();
  std::vector<at::Tensor> copies;
  for (const auto& item : before) copies.push_back(item.value().clone());
  Summarize(*network, data);
  size_t i = 0;
  for (const auto& item : before) {
    EXPECT_TRUE(at::equal(item.value(), copies[i++])) << item.key();
  }
}

}  // namespace
}  // namespace gandem
