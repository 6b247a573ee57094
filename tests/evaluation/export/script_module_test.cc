// SPDX-License-Identifier: Apache-2.0
#include "evaluation/export/script_module.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/golden.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::Golden;
using ::gandem::testing::RelativeError;
using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// A golden of tests/models/families/network_golden_test.cc.
struct ScriptCase {
  std::string file;
  std::string config;
  DataShape data;
  std::vector<std::string> arguments = {"noise"};
};

void PrintTo(const ScriptCase& c, std::ostream* out) { *out << c.file; }

torch::jit::Module Load(const std::string& bytes) {
  std::istringstream in(bytes);
  return torch::jit::load(in);
}

// Repeats `inputs` up to `count` images.
absl::StatusOr<GeneratorInputs> Repeated(const GeneratorInputs& inputs,
                                         int64_t count) {
  const auto take = [count](const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    const int64_t rows = tensor.size(0);
    return tensor.index_select(0, at::arange(count).remainder(rows));
  };
  return GeneratorInputs{
      .noise_NZ = take(inputs.noise_NZ),
      .condition = {.labels_N = take(inputs.condition.labels_N),
                    .images_NCHW = take(inputs.condition.images_NCHW)}};
}

class ScriptModuleTest : public ::testing::TestWithParam<ScriptCase> {};

TEST_P(ScriptModuleTest, GivesTheImagesOfTheNetworkInPyTorch) {
  NetworkConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().config,
                                                            &config));
  ASSERT_OK_AND_ASSIGN(const auto network,
                       MakeGenerator(config, GetParam().data));
  const Golden golden("networks/" + GetParam().file + ".safetensors");
  network->to(golden.Get("generator.input").scalar_type());
  golden.LoadNetwork("generator.state.", *network);
  // The golden's passes before the one in evaluation mode changed the state.
  for (const auto& item : network->named_buffers()) {
    if (item.key().ends_with("_key")) continue;
    const torch::NoGradGuard no_grad;
    item.value().copy_(golden.Get("generator.after." + item.key()));
  }
  GeneratorInputs inputs;
  std::vector<c10::IValue> arguments;
  if (golden.Has("generator.image")) {
    inputs.condition.images_NCHW = golden.Get("generator.image");
    arguments.push_back(inputs.condition.images_NCHW);
  } else {
    inputs.noise_NZ = golden.Get("generator.input");
    arguments.push_back(inputs.noise_NZ);
  }
  if (golden.Has("generator.labels")) {
    inputs.condition.labels_N = golden.Get("generator.labels");
    arguments.push_back(inputs.condition.labels_N);
  }
  ASSERT_OK_AND_ASSIGN(const ScriptModule script,
                       MakeScriptModule(*network, [&](int64_t count) {
                         return Repeated(inputs, count);
                       }));
  EXPECT_THAT(script.arguments, ElementsAreArray(GetParam().arguments));
  torch::jit::Module module = Load(script.bytes);
  const torch::NoGradGuard no_grad;
  EXPECT_LE(RelativeError(module.forward(arguments).toTensor(),
                          golden.Get("generator.evaluate")),
            1e-4);
  // Python's train() changes nothing: the pass is recorded.
  module.train();
  EXPECT_LE(RelativeError(module.forward(arguments).toTensor(),
                          golden.Get("generator.evaluate")),
            1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, ScriptModuleTest,
    ::testing::Values(
        ScriptCase{
            "mlp", "mlp { hidden: 6 hidden: 4 noise_dim: 5 }", {{1, 32, 32}}},
        ScriptCase{
            "dcgan_32", "dcgan { width: 4 noise_dim: 6 }", {{3, 32, 32}}},
        ScriptCase{
            "dcgan_64", "dcgan { width: 4 noise_dim: 6 }", {{1, 64, 64}}},
        ScriptCase{
            "sndcgan", "sndcgan { width: 4 noise_dim: 6 }", {{3, 32, 32}}},
        ScriptCase{"sndcgan_batch_norm",
                   "sndcgan { width: 4 noise_dim: 6 spectral_norm: false }",
                   {{1, 32, 32}}},
        ScriptCase{"sngan", "sngan { width: 4 noise_dim: 6 }", {{3, 32, 32}}},
        ScriptCase{"sngan_48",
                   "sngan { width: 1 noise_dim: 4 norm: BATCH pool: MEAN }",
                   {{1, 48, 48}}},
        ScriptCase{
            "sngan_64",
            "sngan { width: 1 noise_dim: 4 thin: true shortcut: RECTIFIED "
            "upsampling: BILINEAR }",
            {{1, 64, 64}}},
        ScriptCase{
            "wgan_gp", "wgan_gp { width: 1 noise_dim: 4 }", {{1, 64, 64}}},
        ScriptCase{
            "dcgan5_28", "dcgan5 { width: 2 noise_dim: 4 }", {{1, 28, 28}}},
        ScriptCase{
            "dcgan5_32", "dcgan5 { width: 2 noise_dim: 4 }", {{1, 32, 32}}},
        ScriptCase{"dcgan5_28_same",
                   "dcgan5 { width: 2 noise_dim: 4 padding: SAME }",
                   {{1, 28, 28}}},
        ScriptCase{
            "dcgan5_64", "dcgan5 { width: 1 noise_dim: 4 }", {{1, 64, 64}}},
        ScriptCase{"dcgan5_radford",
                   "dcgan5 { form: RADFORD width: 1 noise_dim: 4 }",
                   {{1, 64, 64}}},
        ScriptCase{"keras_dcgan",
                   "keras_dcgan { width: 2 noise_dim: 5 dropout: 0 }",
                   {{1, 64, 64}}},
        ScriptCase{
            "keras_sngan",
            "keras_dcgan { variant: SNGAN width: 2 noise_dim: 5 dropout: 0 }",
            {{1, 64, 64}}},
        ScriptCase{
            "keras_wgan_gp",
            "keras_dcgan { variant: WGAN_GP width: 2 noise_dim: 5 dropout: 0 }",
            {{1, 64, 64}}},
        ScriptCase{"mlp_batch_norm",
                   "mlp { hidden: [6, 4] noise_dim: 5 batch_norm: true }",
                   {{1, 16, 16}}},
        ScriptCase{"pix2pix",
                   "pix2pix { width: 2 input_channels: 1 dropout: 0 }",
                   {{2, 32, 32}},
                   {"images"}},
        ScriptCase{"sngan_classes",
                   "sngan { width: 2 noise_dim: 6 }",
                   {{1, 32, 32}, 3},
                   {"noise", "labels"}},
        ScriptCase{"sagan",
                   "sagan { width: 4 noise_dim: 6 }",
                   {{1, 32, 32}, 3},
                   {"noise", "labels"}},
        ScriptCase{"biggan",
                   "biggan { width: 4 noise_dim: 8 class_dim: 5 }",
                   {{1, 32, 32}, 3},
                   {"noise", "labels"}},
        ScriptCase{
            "biggan_plain",
            "biggan { form: PYTORCH width: 1 noise_dim: 8 attention: false }",
            {{1, 32, 32}}},
        ScriptCase{
            "contragan",
            "biggan { width: 2 noise_dim: 8 class_dim: 5 attention: false "
            "         head: CONTRASTIVE embedding_dim: 6 "
            "         shortcut: RECTIFIED }",
            {{1, 32, 32}, 3},
            {"noise", "labels"}},
        ScriptCase{"biggan_deep",
                   "biggan { form: DEEP width: 2 noise_dim: 6 class_dim: 5 }",
                   {{1, 32, 32}, 3},
                   {"noise", "labels"}},
        ScriptCase{
            "biggan_deep_mixing",
            "biggan { form: DEEP_MIXING width: 2 noise_dim: 6 class_dim: 5 "
            "         head: CONTRASTIVE embedding_dim: 6 "
            "         shortcut: RECTIFIED }",
            {{1, 32, 32}, 3},
            {"noise", "labels"}},
        ScriptCase{"r3gan",
                   "r3gan { width: 4 groups: 2 blocks: 1 noise_dim: 6 }",
                   {{1, 32, 32}}},
        ScriptCase{"r3gan_64_classes",
                   "r3gan { width: 8 groups: 4 widest_until: 16 noise_dim: 5 }",
                   {{1, 64, 64}, 3},
                   {"noise", "labels"}},
        ScriptCase{"stylegan2",
                   "stylegan2 { channel_base: 32 max_channels: 4 noise_dim: 5 "
                   "            style_dim: 6 mapping_layers: 2 }",
                   {{1, 16, 16}}},
        ScriptCase{"stylegan2_classes",
                   "stylegan2 { channel_base: 64 max_channels: 6 noise_dim: 6 "
                   "            style_dim: 4 mapping_layers: 3 }",
                   {{1, 32, 32}, 3},
                   {"noise", "labels"}}));

// A family that reads the number of images from a shape.
class BakedGenerator : public Generator {
 public:
  at::Tensor forward(const at::Tensor& noise_NZ, const Condition&,
                     ForwardMode) override {
    return noise_NZ.view({noise_NZ.size(0), 1, 2, 2});
  }
  int64_t noise_dim() const override { return 4; }
};

TEST(ScriptModuleOfTwoImagesOnlyTest, IsRefused) {
  BakedGenerator network;
  EXPECT_THAT(MakeScriptModule(
                  network,
                  [](int64_t count) -> absl::StatusOr<GeneratorInputs> {
                    return GeneratorInputs{.noise_NZ = at::ones({count, 4})};
                  })
                  .status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("a batch of")));
}

TEST(ScriptModuleOfASingleClassTest, TakesNoLabels) {
  NetworkConfig config;
  config.mutable_sngan()->set_width(1);
  config.mutable_sngan()->set_noise_dim(3);
  ASSERT_OK_AND_ASSIGN(const auto network,
                       MakeGenerator(config, {{1, 32, 32}, 1}));
  InitializeParameters(*network, config, /*seed=*/1);
  ASSERT_OK_AND_ASSIGN(
      const ScriptModule script,
      MakeScriptModule(
          *network, [](int64_t count) -> absl::StatusOr<GeneratorInputs> {
            return GeneratorInputs{
                .noise_NZ = at::ones({count, 3}),
                .condition = {.labels_N = at::zeros({count}, at::kLong)}};
          }));
  EXPECT_THAT(script.arguments, ElementsAre("noise"));
  EXPECT_EQ(Load(script.bytes).named_parameters().size(),
            network->named_parameters().size());
}

}  // namespace
}  // namespace gandem
