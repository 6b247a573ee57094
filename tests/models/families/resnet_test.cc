// SPDX-License-Identifier: Apache-2.0
//
// Options and known traps (docs/reference/traps.md) of SNGAN with classes,
// SAGAN and BigGAN.
#include "models/families/resnet.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::CountParameters;
using gandem::testing::ParseNetwork;
using gandem::testing::Ramp;
using gandem::testing::StatusIs;

DataShape Data(int64_t size, int64_t num_classes) {
  return {.image = {.channels = 3, .height = size, .width = size},
          .num_classes = num_classes};
}

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes ShapesOf(const torch::nn::Module& network) {
  Shapes shapes;
  for (const auto& item : network.named_parameters()) {
    shapes[item.key()] = item.value().sizes().vec();
  }
  for (const auto& item : network.named_buffers()) {
    shapes[item.key()] = item.value().sizes().vec();
  }
  return shapes;
}

// T1. If the convolutions are zero, a block equals its shortcut.
TEST(ResnetTrapTest, ShortcutInputIsRawUnlessRectified) {
  const at::Tensor input = Ramp({2, 4, 4, 4}).to(torch::kFloat32);
  for (const bool rectified : {false, true}) {
    DiscriminatorBlock block({.in_channels = 4,
                              .hidden_channels = 4,
                              .out_channels = 4,
                              .norm = DiscriminatorBlock::Norm::kNone,
                              .rectified_shortcut = rectified});
    const at::Tensor before = input.clone();
    EXPECT_TRUE(at::equal(block.forward(input, ForwardMode::kTrain),
                          rectified ? at::relu(input) : input));
    EXPECT_TRUE(at::equal(input, before));
  }
}

TEST(ResnetTrapTest, ShortcutOptionReachesEveryFamily) {
  for (const char* family :
       {"sngan { width: 4", "sagan { width: 4", "biggan { width: 4",
        "biggan { width: 2 form: DEEP"}) {
    at::Tensor logits[2];
    for (const int rectified : {0, 1}) {
      const NetworkConfig config = ParseNetwork(
          std::string(family) +
          (rectified ? " shortcut: RECTIFIED }" : " shortcut: RAW }"));
      ASSERT_OK_AND_ASSIGN(const auto network,
                           MakeDiscriminator(config, Data(32, 3)));
      InitializeParameters(*network, config, 7);
      logits[rectified] =
          network
              ->forward(Ramp({2, 3, 32, 32}).to(torch::kFloat32),
                        {.labels_N = torch::tensor({2, 0})},
                        ForwardMode::kTrain)
              .logits.One();
    }
    EXPECT_FALSE(at::allclose(logits[0], logits[1], 1e-3, 1e-3)) << family;
  }
}

// T4 and T5. The count is 30,005,013 with a hidden layer of three channels, and
// 582,497 with the width of the last block.
TEST(ResnetTrapTest, HiddenLayersAreNotThinnerThanTheImage) {
  ASSERT_OK_AND_ASSIGN(
      const auto network,
      MakeDiscriminator(ParseNetwork("sngan { thin: true }"), Data(128, 1000)));
  const Shapes shapes = ShapesOf(*network);
  EXPECT_EQ(shapes.at("blocks.0.conv1.weight")[0], 64);
  EXPECT_EQ(shapes.at("blocks.1.conv1.weight")[0], 64);
  EXPECT_EQ(shapes.at("blocks.1.conv2.weight")[0], 128);
  EXPECT_EQ(CountParameters(*network), 30'041'857);
}

// T16: sums over 4 x 4 pixels are 16 times the means; the bias is unscaled.
TEST(ResnetTrapTest, FeaturesAreSummedUnlessMeansAreConfigured) {
  double logits[2];
  for (const int mean : {0, 1}) {
    const NetworkConfig config = ParseNetwork(
        mean ? "sngan { width: 1 pool: MEAN }" : "sngan { width: 1 }");
    ASSERT_OK_AND_ASSIGN(const auto network,
                         MakeDiscriminator(config, Data(64, 0)));
    network->to(torch::kFloat64);
    InitializeParameters(*network, config, 7);
    logits[mean] =
        network->forward(Ramp({1, 3, 64, 64}), {}, ForwardMode::kFrozen)
            .logits.One()
            .item<double>();
  }
  EXPECT_NE(logits[0], 0);
  EXPECT_NEAR(logits[0], 16 * logits[1], 1e-12);
}

// T20: a linear map of a constant label starts at a random value.
TEST(ResnetTrapTest, OneClassMeansUnconditionalBlocks) {
  for (const char* config :
       {"sngan { width: 4 }", "sagan { width: 4 }", "biggan { width: 4 }"}) {
    ASSERT_OK_AND_ASSIGN(const auto one,
                         MakeGenerator(ParseNetwork(config), Data(32, 1)));
    ASSERT_OK_AND_ASSIGN(const auto none,
                         MakeGenerator(ParseNetwork(config), Data(32, 0)));
    ASSERT_OK_AND_ASSIGN(const auto two,
                         MakeGenerator(ParseNetwork(config), Data(32, 2)));
    EXPECT_EQ(ShapesOf(*one), ShapesOf(*none)) << config;
    EXPECT_NE(ShapesOf(*two), ShapesOf(*none)) << config;
    ASSERT_OK_AND_ASSIGN(const auto judge,
                         MakeDiscriminator(ParseNetwork(config), Data(32, 1)));
    EXPECT_FALSE(ShapesOf(*judge).contains("embedding.weight")) << config;
  }
}

// T6: the raw weight is initialized and stored in checkpoints; the layer
// divides it by sigma. An orthogonal weight has sigma 1, so the test scales it.
TEST(ResnetTrapTest, RawWeightsUnderSpectralNormAreOrthogonal) {
  const NetworkConfig config = ParseNetwork("biggan { width: 4 }");
  ASSERT_OK_AND_ASSIGN(const auto network, MakeGenerator(config, Data(32, 3)));
  InitializeParameters(*network, config, 7);
  const auto parameters = network->named_parameters();
  const at::Tensor matrix = parameters["blocks.0.conv1.weight"].flatten(1);
  EXPECT_TRUE(at::allclose(matrix.mm(matrix.t()), torch::eye(16), 1e-5, 1e-5));
  const at::Tensor shared = parameters["shared.weight"];
  EXPECT_TRUE(at::allclose(shared.mm(shared.t()), torch::eye(3), 1e-5, 1e-5));
  EXPECT_EQ(parameters["linear.bias"].abs().max().item<float>(), 0);
}

TEST(ResnetTest, SharedEmbeddingHasNoSpectralNorm) {
  ASSERT_OK_AND_ASSIGN(
      const auto network,
      MakeGenerator(ParseNetwork("biggan { width: 4 }"), Data(32, 3)));
  const Shapes shapes = ShapesOf(*network);
  EXPECT_TRUE(shapes.contains("shared.weight"));
  EXPECT_FALSE(shapes.contains("shared.weight_u"));
  EXPECT_TRUE(shapes.contains("blocks.0.norm1.gain.weight_u"));
}

TEST(ResnetTest, NormsWithEmbeddingsStartAsPlainBatchNorm) {
  const NetworkConfig config =
      ParseNetwork("sagan { width: 4 class_norm: EMBEDDING }");
  ASSERT_OK_AND_ASSIGN(const auto network, MakeGenerator(config, Data(32, 3)));
  InitializeParameters(*network, config, 7);
  const at::Tensor noise = Ramp({3, 128}).to(torch::kFloat32);
  const auto images = [&](std::vector<int64_t> labels) {
    return network->forward(noise, {.labels_N = torch::tensor(labels)},
                            ForwardMode::kFrozen);
  };
  EXPECT_TRUE(at::equal(images({0, 0, 0}), images({2, 1, 0})));
  const auto parameters = network->named_parameters();
  for (const char* map : {"gain", "bias"}) {
    const std::string name = std::string("blocks.0.norm1.") + map + ".weight";
    EXPECT_EQ(parameters[name].abs().max().item<float>(), 0) << name;
  }
  EXPECT_FALSE(ShapesOf(*network).contains("blocks.0.norm1.gain.weight_u"));
}

TEST(ResnetTest, EachPartOfHierarchicalNoiseGoesToItsBlock) {
  const NetworkConfig config =
      ParseNetwork("biggan { width: 1 noise_dim: 8 attention: false }");
  ASSERT_OK_AND_ASSIGN(const auto network, MakeGenerator(config, Data(32, 3)));
  network->to(torch::kFloat64);
  InitializeParameters(*network, config, 7);
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : network->named_parameters()) {
      const std::string& name = item.key();
      const bool of_condition = name.find(".gain.") != std::string::npos ||
                                name.find(".bias.") != std::string::npos;
      if (!of_condition || name.starts_with("blocks.2.")) continue;
      item.value().slice(/*dim=*/1, /*start=*/-2).zero_();
    }
  }
  const at::Tensor noise = Ramp({2, 8});
  const Condition condition = {.labels_N = torch::tensor({1, 2})};
  const at::Tensor before =
      network->forward(noise, condition, ForwardMode::kFrozen);
  for (int64_t chunk = 0; chunk < 4; ++chunk) {
    at::Tensor changed = noise.clone();
    changed.narrow(1, 2 * chunk, 2).neg_();
    const bool heard = chunk == 0 || chunk == 3;
    EXPECT_EQ(
        at::equal(network->forward(changed, condition, ForwardMode::kFrozen),
                  before),
        !heard)
        << chunk;
  }
}

TEST(ResnetTest, InvalidSizesAreNamed) {
  struct Case {
    const char* config;
    DataShape data;
    const char* message;
  };
  for (const Case& c : {
           Case{"biggan { noise_dim: 121 }", Data(128, 3),
                "models: network.biggan.noise_dim 121 does not split into 6 "
                "equal "
                "chunks"},
           Case{"biggan { attention_size: 48 }", Data(128, 3),
                "models: network.biggan: the generator has no layer of 48 x 48 "
                "for "
                "attention: change attention_size; network.biggan: the "
                "discriminator has no "
                "layer of 48 x 48 for attention: change attention_size"},
           Case{"sagan { width: 6 }", Data(64, 3),
                "models: network.sagan: attention is for multiples of 8 "
                "channels, the "
                "generator has 12 at 32 x 32: change width; network.sagan: "
                "attention is for "
                "multiples of 8 channels, the discriminator has 6 at 32 x 32: "
                "change width"},
           Case{"biggan { head: CONTRASTIVE }", Data(32, 0),
                "models: network.biggan.head CONTRASTIVE needs classes to tell "
                "apart: "
                "set data.num_classes"},
           Case{"biggan { form: DEEP }", Data(64, 3),
                "models: network.biggan.form DEEP is for images of 32, 128 or "
                "256 "
                "pixels, not 64"},
       }) {
    EXPECT_THAT(MakeDiscriminator(ParseNetwork(c.config), c.data).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, c.message));
  }
}

}  // namespace
}  // namespace gandem
