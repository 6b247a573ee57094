// SPDX-License-Identifier: Apache-2.0
//
// Compares every network with the same network in PyTorch
// (tests/oracles/network_goldens.py), forward and backward, in the type of the
// golden file: float32, or float64 with a tolerance of 1e-8.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Golden;
using gandem::testing::RelativeError;

constexpr double kTolerance = 1e-4;
// Long sums cancel; the largest error seen is 1.2e-4, in attention.
constexpr double kGradientTolerance = 3e-4;
constexpr double kRounding = 1e-8;  // for expected zeros
constexpr double kDoubleTolerance = 1e-8;

struct NetworkGoldenCase {
  std::string file;
  std::string config;
  DataShape data;
};

void PrintTo(const NetworkGoldenCase& c, std::ostream* out) { *out << c.file; }

const at::Tensor& OutputOf(const at::Tensor& images_NCHW) {
  return images_NCHW;
}

at::Tensor OutputOf(const Verdict& verdict) {
  if (!verdict.embeddings_NE.defined()) return verdict.logits.One();
  return at::cat({verdict.logits.One(), verdict.embeddings_NE.flatten(),
                  verdict.proxies_KE.flatten()});
}

class NetworkGoldenTest : public ::testing::TestWithParam<NetworkGoldenCase> {
 protected:
  NetworkGoldenTest()
      : golden_("networks/" + GetParam().file + ".safetensors") {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().config,
                                                              &config_));
    type_ = golden_.Get("generator.input").scalar_type();
  }

  // Compares all passes of the oracle in their order.
  template <typename Network>
  void ExpectEqual(const std::string& role, Network& network) {
    network.to(type_);
    golden_.LoadNetwork(role + ".state.", network);
    const Condition condition = ConditionOf(role);
    const at::Tensor input = golden_.Get(role + ".input");
    const at::Tensor leaf = input.clone().requires_grad_();
    const at::Tensor output =
        OutputOf(network.forward(leaf, condition, ForwardMode::kTrain));
    ExpectNear(output, role + ".train");
    (output * golden_.Get(role + ".probe")).sum().backward();
    if (role == "discriminator") {
      ExpectNear(leaf.grad(), role + ".input_gradient");
    }
    ExpectGradients(role, network);
    for (const auto& item : network.named_buffers()) {
      if (item.key().ends_with("_key")) continue;
      ExpectNear(item.value(), role + ".after." + item.key());
    }
    ExpectNear(
        OutputOf(network.forward(input, condition, ForwardMode::kFrozen)),
        role + ".frozen");
    ExpectNear(
        OutputOf(network.forward(input, condition, ForwardMode::kEvaluate)),
        role + ".evaluate");
  }

  Condition ConditionOf(const std::string& role) const {
    Condition condition;
    if (golden_.Has(role + ".labels")) {
      condition.labels_N = golden_.Get(role + ".labels");
    }
    if (golden_.Has(role + ".image")) {
      condition.images_NCHW = golden_.Get(role + ".image");
    }
    return condition;
  }

  void ExpectNear(const at::Tensor& actual, const std::string& name) {
    EXPECT_LE(RelativeError(actual, golden_.Get(name)), Tolerance(kTolerance))
        << name;
  }

  // A bias before batch norm has only rounding errors as its gradient, so the
  // scale is that of the layer. The same holds for a 1 x 1 convolution of one
  // channel with spectral norm, whose normalized weight is 1 or -1.
  void ExpectGradients(const std::string& role,
                       const torch::nn::Module& network) {
    const auto parameters = network.named_parameters();
    for (const auto& item : parameters) {
      const at::Tensor want = golden_.Get(role + ".gradient." + item.key());
      const std::string layer = item.key().substr(0, item.key().rfind('.'));
      const at::Tensor* const weight = parameters.find(layer + ".weight");
      const double scale =
          weight == nullptr ? 0 : weight->grad().norm().item<double>();
      const double error = (item.value().grad() - want).norm().item<double>();
      EXPECT_LE(error, kRounding * Tolerance(1) +
                           Tolerance(kGradientTolerance) *
                               std::max(scale, want.norm().item<double>()))
          << item.key();
    }
  }

  double Tolerance(double in_float32) const {
    return type_ == at::kDouble ? kDoubleTolerance : in_float32;
  }

  const Golden golden_;
  NetworkConfig config_;
  at::ScalarType type_ = at::kFloat;
};

TEST_P(NetworkGoldenTest, GeneratorEqualsPyTorch) {
  ASSERT_OK_AND_ASSIGN(const auto network,
                       MakeGenerator(config_, GetParam().data));
  ExpectEqual("generator", *network);
  if (!golden_.Has("generator.truncated")) return;
  EXPECT_TRUE(network->TruncateStyles(0.5));
  ExpectNear(network->forward(golden_.Get("generator.input"),
                              ConditionOf("generator"), ForwardMode::kEvaluate),
             "generator.truncated");
}

TEST_P(NetworkGoldenTest, DiscriminatorEqualsPyTorch) {
  ASSERT_OK_AND_ASSIGN(const auto network,
                       MakeDiscriminator(config_, GetParam().data));
  ExpectEqual("discriminator", *network);
}

TEST_P(NetworkGoldenTest, ChannelsLastEqualsPyTorch) {
  ASSERT_OK_AND_ASSIGN(const auto network,
                       MakeDiscriminator(config_, GetParam().data));
  network->to(type_);
  golden_.LoadNetwork("discriminator.state.", *network);
  for (at::Tensor& parameter : network->parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
  const at::Tensor input = golden_.Get("discriminator.input")
                               .contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor output = OutputOf(network->forward(
      input, ConditionOf("discriminator"), ForwardMode::kTrain));
  ExpectNear(output, "discriminator.train");
  (output * golden_.Get("discriminator.probe")).sum().backward();
  ExpectGradients("discriminator", *network);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, NetworkGoldenTest,
    ::testing::Values(
        NetworkGoldenCase{
            "mlp", "mlp { hidden: 6 hidden: 4 noise_dim: 5 }", {{1, 32, 32}}},
        NetworkGoldenCase{
            "dcgan_32", "dcgan { width: 4 noise_dim: 6 }", {{3, 32, 32}}},
        NetworkGoldenCase{
            "dcgan_64", "dcgan { width: 4 noise_dim: 6 }", {{1, 64, 64}}},
        NetworkGoldenCase{
            "sndcgan", "sndcgan { width: 4 noise_dim: 6 }", {{3, 32, 32}}},
        NetworkGoldenCase{
            "sndcgan_batch_norm",
            "sndcgan { width: 4 noise_dim: 6 spectral_norm: false }",
            {{1, 32, 32}}},
        NetworkGoldenCase{
            "sngan", "sngan { width: 4 noise_dim: 6 }", {{3, 32, 32}}},
        NetworkGoldenCase{
            "sngan_48",
            "sngan { width: 1 noise_dim: 4 norm: BATCH pool: MEAN }",
            {{1, 48, 48}}},
        NetworkGoldenCase{
            "sngan_64",
            "sngan { width: 1 noise_dim: 4 thin: true shortcut: RECTIFIED "
            "upsampling: BILINEAR }",
            {{1, 64, 64}}},
        NetworkGoldenCase{
            "wgan_gp", "wgan_gp { width: 1 noise_dim: 4 }", {{1, 64, 64}}},
        NetworkGoldenCase{
            "dcgan5_28", "dcgan5 { width: 2 noise_dim: 4 }", {{1, 28, 28}}},
        NetworkGoldenCase{
            "dcgan5_32", "dcgan5 { width: 2 noise_dim: 4 }", {{1, 32, 32}}},
        NetworkGoldenCase{"dcgan5_28_same",
                          "dcgan5 { width: 2 noise_dim: 4 padding: SAME }",
                          {{1, 28, 28}}},
        NetworkGoldenCase{
            "dcgan5_64", "dcgan5 { width: 1 noise_dim: 4 }", {{1, 64, 64}}},
        NetworkGoldenCase{"dcgan5_radford",
                          "dcgan5 { form: RADFORD width: 1 noise_dim: 4 }",
                          {{1, 64, 64}}},
        NetworkGoldenCase{"keras_dcgan",
                          "keras_dcgan { width: 2 noise_dim: 5 dropout: 0 }",
                          {{1, 64, 64}}},
        NetworkGoldenCase{
            "keras_sngan",
            "keras_dcgan { variant: SNGAN width: 2 noise_dim: 5 dropout: 0 }",
            {{1, 64, 64}}},
        NetworkGoldenCase{
            "keras_wgan_gp",
            "keras_dcgan { variant: WGAN_GP width: 2 noise_dim: 5 dropout: 0 }",
            {{1, 64, 64}}},
        NetworkGoldenCase{
            "mlp_batch_norm",
            "mlp { hidden: [6, 4] noise_dim: 5 batch_norm: true }",
            {{1, 16, 16}}},
        NetworkGoldenCase{"pix2pix",
                          "pix2pix { width: 2 input_channels: 1 dropout: 0 }",
                          {{2, 32, 32}}},
        NetworkGoldenCase{"sngan_classes",
                          "sngan { width: 2 noise_dim: 6 }",
                          {{1, 32, 32}, 3}},
        NetworkGoldenCase{
            "sagan", "sagan { width: 4 noise_dim: 6 }", {{1, 32, 32}, 3}},
        NetworkGoldenCase{"biggan",
                          "biggan { width: 4 noise_dim: 8 class_dim: 5 }",
                          {{1, 32, 32}, 3}},
        NetworkGoldenCase{
            "biggan_plain",
            "biggan { form: PYTORCH width: 1 noise_dim: 8 attention: false }",
            {{1, 32, 32}}},
        NetworkGoldenCase{
            "contragan",
            "biggan { width: 2 noise_dim: 8 class_dim: 5 attention: false "
            "         head: CONTRASTIVE embedding_dim: 6 "
            "         shortcut: RECTIFIED }",
            {{1, 32, 32}, 3}},
        NetworkGoldenCase{
            "biggan_deep",
            "biggan { form: DEEP width: 2 noise_dim: 6 class_dim: 5 }",
            {{1, 32, 32}, 3}},
        NetworkGoldenCase{
            "biggan_deep_mixing",
            "biggan { form: DEEP_MIXING width: 2 noise_dim: 6 class_dim: 5 "
            "         head: CONTRASTIVE embedding_dim: 6 "
            "         shortcut: RECTIFIED }",
            {{1, 32, 32}, 3}},
        NetworkGoldenCase{"r3gan",
                          "r3gan { width: 4 groups: 2 blocks: 1 noise_dim: 6 }",
                          {{1, 32, 32}}},
        NetworkGoldenCase{
            "r3gan_64_classes",
            "r3gan { width: 8 groups: 4 widest_until: 16 noise_dim: 5 }",
            {{1, 64, 64}, 3}},
        NetworkGoldenCase{
            "stylegan2",
            "stylegan2 { channel_base: 32 max_channels: 4 noise_dim: 5 "
            "            style_dim: 6 mapping_layers: 2 deviation_group: 2 }",
            {{1, 16, 16}}},
        NetworkGoldenCase{
            "stylegan2_classes",
            "stylegan2 { channel_base: 64 max_channels: 6 noise_dim: 6 "
            "            style_dim: 4 mapping_layers: 3 label_layers: 2 "
            "            block: PLAIN mixing_probability: 0.5 }",
            {{1, 32, 32}, 3}}));

}  // namespace
}  // namespace gandem
