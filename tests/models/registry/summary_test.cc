// SPDX-License-Identifier: Apache-2.0
//
// Expected numbers are shape arithmetic, written out.
#include "models/registry/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::ParseNetwork;
using gandem::testing::SquareImages;
using ::testing::ElementsAre;

TEST(SummaryTest, TransposedConvolutionsInTheirOrder) {
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

// The layer computes with weight / sigma, a tensor of its own.
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

TEST(SummaryTest, ChangesNoState) {
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
