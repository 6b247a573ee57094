// SPDX-License-Identifier: Apache-2.0
#include "models/registry/initialize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::ParseNetwork;

constexpr DataShape kInitializeData = {
    .image = {.channels = 1, .height = 32, .width = 32}};
constexpr DataShape k64 = {.image = {.channels = 1, .height = 64, .width = 64}};
constexpr uint64_t kDiscriminator = uint64_t{1} << 32;

std::shared_ptr<Generator> InitializedGenerator(const std::string& text,
                                                uint64_t seed) {
  const NetworkConfig config = ParseNetwork(text);
  const auto network = MakeGenerator(config, kInitializeData);
  EXPECT_OK(network);
  InitializeParameters(**network, config, seed);
  return *network;
}

std::shared_ptr<Discriminator> InitializedDiscriminator(
    const std::string& text, uint64_t seed,
    const DataShape& data = kInitializeData) {
  const NetworkConfig config = ParseNetwork(text);
  const auto network = MakeDiscriminator(config, data);
  EXPECT_OK(network);
  InitializeParameters(**network, config, seed);
  return *network;
}

bool EqualParameters(const torch::nn::Module& a, const torch::nn::Module& b) {
  for (size_t i = 0; i < a.parameters().size(); ++i) {
    if (!at::equal(a.parameters()[i], b.parameters()[i])) return false;
  }
  return true;
}

TEST(InitializeTest, ValuesDependOnTheSeedAndNotOnTorchsGenerator) {
  for (const char* config : {"mlp { hidden: 8 }", "dcgan { width: 4 }",
                             "sndcgan { width: 2 }", "sngan { width: 2 }"}) {
    torch::manual_seed(1);
    const auto first = InitializedGenerator(config, 7);
    torch::manual_seed(2);
    EXPECT_TRUE(EqualParameters(*first, *InitializedGenerator(config, 7)));
    EXPECT_FALSE(EqualParameters(*first, *InitializedGenerator(config, 8)));
  }
}

TEST(InitializeTest, TorchsGeneratorIsUnchanged) {
  torch::manual_seed(1);
  const at::Tensor expected = torch::rand({4});
  torch::manual_seed(1);
  InitializedDiscriminator("sngan { width: 2 }", 7);
  EXPECT_TRUE(at::equal(torch::rand({4}), expected));
}

// The Philox streams determine the numbers of every run.
TEST(InitializeTest, DrawsComeFromTheDocumentedStreams) {
  const auto generator = InitializedGenerator("dcgan { width: 4 }", 7);
  // Tensor 3 is the second convolution's weight, after batch norm's two.
  PhiloxStream row(7, Purpose::kInit, /*step=*/3, /*index=*/5);
  const at::Tensor weight = generator->named_parameters()["main.3.weight"];
  const auto values = weight[5].flatten();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(values[i].item<float>(),
              static_cast<float>(0.02 * row.NextNormal()));
  }

  // Spectral norm's u is numbered after its layer's weight and bias. Power
  // iterations do not change it because the rows are orthonormal.
  const auto discriminator =
      InitializedDiscriminator("sndcgan { width: 2 }", 7);
  PhiloxStream vector(7, Purpose::kInit, kDiscriminator + 2, /*index=*/0);
  const double first = vector.NextNormal();
  const double second = vector.NextNormal();
  const at::Tensor u = discriminator->named_buffers()["main.0.weight_u"];
  EXPECT_NEAR(u[0].item<double>() / u[1].item<double>(), first / second, 1e-5);
}

// A critic that judges before any training pass (lag >= 1) needs an approximate
// sigma: the logits of frozen and evaluating passes have the same magnitude.
TEST(InitializeTest, SpectralNormVectorsFitTheWeights) {
  for (const char* config : {"sndcgan { width: 4 }", "sngan { width: 4 }"}) {
    const auto network = InitializedDiscriminator(config, 7);
    const auto parameters = network->named_parameters();
    const auto buffers = network->named_buffers();
    for (const auto& item : buffers) {
      if (!item.key().ends_with("weight_u")) continue;
      const std::string layer =
          item.key().substr(0, item.key().size() - 2);  // "...weight"
      const at::Tensor matrix = parameters[layer].flatten(1);
      const at::Tensor& u = item.value();
      const at::Tensor& v = buffers[layer + "_v"];
      const double sigma = u.dot(matrix.mv(v)).item<double>();
      const double largest = at::linalg_svdvals(matrix).max().item<double>();
      EXPECT_NEAR(sigma, largest, 1e-2 * largest) << item.key();
      EXPECT_NEAR(u.norm().item<double>(), 1, 1e-5);
      EXPECT_NEAR(v.norm().item<double>(), 1, 1e-5);
    }
  }
}

TEST(InitializeTest, DoubleAndFloatNetworksAgree) {
  const NetworkConfig config = ParseNetwork("sngan { width: 2 }");
  const auto wide = MakeDiscriminator(config, kInitializeData);
  ASSERT_OK(wide);
  (*wide)->to(torch::kFloat64);
  InitializeParameters(**wide, config, 7);
  const auto narrow = InitializedDiscriminator("sngan { width: 2 }", 7);
  for (size_t i = 0; i < narrow->parameters().size(); ++i) {
    EXPECT_TRUE(at::equal((*wide)->parameters()[i].to(torch::kFloat32),
                          narrow->parameters()[i]));
  }
}

TEST(InitializeTest, DcganWeightsHaveTheExpectedMoments) {
  const auto network = InitializedDiscriminator("dcgan { width: 64 }", 7);
  const auto parameters = network->named_parameters();
  const at::Tensor& weight = parameters["main.5.weight"];  // 524,288 values
  EXPECT_NEAR(weight.mean().item<double>(), 0, 2e-4);
  EXPECT_NEAR(weight.std().item<double>(), 0.02, 2e-4);
  const at::Tensor& norm = parameters["main.6.weight"];
  EXPECT_NEAR(norm.mean().item<double>(), 1, 5e-3);
  EXPECT_NEAR(norm.std().item<double>(), 0.02, 5e-3);
  EXPECT_EQ(parameters["main.6.bias"].abs().max().item<float>(), 0);
}

TEST(InitializeTest, SpectralNormNetworksAreOrthogonal) {
  const auto network = InitializedDiscriminator("sndcgan { width: 8 }", 7);
  const auto parameters = network->named_parameters();
  const at::Tensor wide = parameters["main.12.weight"].flatten(1);
  ASSERT_EQ(wide.sizes(), (at::IntArrayRef{64, 32 * 9}));
  EXPECT_TRUE(at::allclose(wide.mm(wide.t()), torch::eye(64), 0, 1e-5));
  const at::Tensor tall = parameters["main.0.weight"].flatten(1);
  ASSERT_EQ(tall.sizes(), (at::IntArrayRef{8, 9}));
  EXPECT_TRUE(at::allclose(tall.mm(tall.t()), torch::eye(8), 0, 1e-5));
  EXPECT_EQ(parameters["main.0.bias"].abs().max().item<float>(), 0);

  const auto generator = InitializedGenerator("sndcgan { width: 8 }", 7);
  const at::Tensor linear = generator->named_parameters()["linear.weight"];
  ASSERT_EQ(linear.sizes(), (at::IntArrayRef{1024, 128}));
  EXPECT_TRUE(at::allclose(linear.t().mm(linear), torch::eye(128), 0, 1e-5));
}

TEST(InitializeTest, MlpWeightsAreUniformByFanIn) {
  const auto network = InitializedGenerator("mlp { hidden: 400 }", 7);
  const auto parameters = network->named_parameters();
  const double bound = 1.0 / 8;  // 64 inputs
  for (const char* name : {"main.0.weight", "main.0.bias"}) {
    const at::Tensor& values = parameters[name];
    EXPECT_LE(values.abs().max().item<double>(), bound) << name;
    EXPECT_GE(values.abs().max().item<double>(), 0.98 * bound) << name;
    EXPECT_NEAR(values.mean().item<double>(), 0, 0.1 * bound) << name;
  }
}

// Convolutions are N(0, 0.02), linear layers uniform in +-sqrt(6 / fans).
TEST(InitializeTest, KerasNetworksHaveKerasInitialization) {
  const auto network =
      InitializedDiscriminator("keras_dcgan { width: 32 }", 7, k64);
  const auto parameters = network->named_parameters();
  EXPECT_NEAR(parameters["main.8.weight"].std().item<double>(), 0.02, 2e-4);
  EXPECT_EQ(parameters["main.8.bias"].abs().max().item<float>(), 0);
  EXPECT_TRUE(at::equal(parameters["main.9.weight"], torch::ones({256})));
  const at::Tensor& linear = parameters["linear.weight"];  // 4096 -> 1
  const double bound = std::sqrt(6.0 / 4097);
  EXPECT_LE(linear.abs().max().item<double>(), bound);
  EXPECT_GE(linear.abs().max().item<double>(), 0.99 * bound);
  EXPECT_NEAR(linear.std().item<double>(), bound / std::sqrt(3.0),
              0.03 * bound);
}

// Expects a uniform distribution up to `bound`.
void ExpectUniform(const at::Tensor& weight, double bound,
                   const std::string& name) {
  EXPECT_LE(weight.abs().max().item<double>(), bound * 1.0001) << name;
  EXPECT_GE(weight.abs().max().item<double>(), 0.9 * bound) << name;
  EXPECT_NEAR(weight.std().item<double>(), bound / std::sqrt(3.0), 0.1 * bound)
      << name;
}

void ExpectOnesAndZeros(const at::Tensor& parameter, const std::string& name) {
  const double value = name.ends_with("weight") ? 1 : 0;
  EXPECT_TRUE(at::equal(parameter, at::full_like(parameter, value))) << name;
}

// The authors' he_init: Glorot's deviation times sqrt(2), except in linear
// layers, shortcuts and the critic's first convolution.
TEST(InitializeTest, WganGpHasTheAuthorsInitialization) {
  const NetworkConfig config = ParseNetwork("wgan_gp { width: 8 }");
  const auto generator = MakeGenerator(config, k64);
  ASSERT_OK(generator);
  InitializeParameters(**generator, config, 7);
  const auto discriminator =
      InitializedDiscriminator("wgan_gp { width: 8 }", 7, k64);
  int convolutions = 0;
  int with_gain = 0;
  const auto check = [&](const torch::nn::Module& network, bool critic) {
    for (const auto& item : network.named_parameters()) {
      const std::string& name = item.key();
      const at::Tensor& weight = item.value();
      if (weight.dim() == 1) {
        ExpectOnesAndZeros(weight, name);
        continue;
      }
      const bool gain = weight.dim() == 4 &&
                        name.find("shortcut") == std::string::npos &&
                        !(critic && name == "main.0.weight");
      convolutions += weight.dim() == 4 ? 1 : 0;
      with_gain += gain ? 1 : 0;
      const double fans =
          static_cast<double>(weight[0].numel() + weight.select(1, 0).numel());
      ExpectUniform(weight, std::sqrt((gain ? 12 : 6) / fans), name);
    }
  };
  check(**generator, /*critic=*/false);
  check(*discriminator, /*critic=*/true);
  EXPECT_EQ(convolutions, 26);
  EXPECT_EQ(with_gain, 17);
}

// 28x28 and 32x32: convolutions have He's deviation sqrt(4 / (fan in + fan
// out)), with a quarter of the kernel towards the larger image, and linear
// layers Glorot's. 64x64: 0.02 everywhere.
TEST(InitializeTest, Dcgan5OfWganGpHasTheAuthorsInitialization) {
  const NetworkConfig config = ParseNetwork("dcgan5 { width: 16 }");
  for (const int64_t size : {28, 32, 64}) {
    const DataShape data = {
        .image = {.channels = 3, .height = size, .width = size}};
    const auto generator = MakeGenerator(config, data);
    const auto discriminator = MakeDiscriminator(config, data);
    ASSERT_OK(generator);
    ASSERT_OK(discriminator);
    InitializeParameters(**generator, config, 7);
    InitializeParameters(**discriminator, config, 7);
    for (const torch::nn::Module* network :
         {static_cast<torch::nn::Module*>(generator->get()),
          static_cast<torch::nn::Module*>(discriminator->get())}) {
      for (const auto& item : network->named_parameters()) {
        const at::Tensor& weight = item.value();
        const std::string name = absl::StrCat(size, " ", item.key());
        if (weight.dim() == 1) {
          ExpectOnesAndZeros(weight, name);
          continue;
        }
        const auto a = static_cast<double>(weight.size(0));
        const auto b = static_cast<double>(weight.size(1));
        const double deviation = size == 64 ? 0.02
                                 : weight.dim() == 2
                                     ? std::sqrt(2 / (a + b))
                                     : std::sqrt(4 / (25 * (a / 4 + b)));
        ExpectUniform(weight, std::sqrt(3.0) * deviation, name);
      }
    }
  }
}

TEST(InitializeTest, DropoutKeysDependOnTheSeed) {
  const auto key = [](uint64_t seed) {
    return InitializedDiscriminator("keras_dcgan { width: 1 }", seed, k64)
        ->named_buffers()["dropout.mask_key"]
        .item<int64_t>();
  };
  EXPECT_GT(key(7), 0);
  EXPECT_EQ(key(7), key(7));
  EXPECT_NE(key(7), key(8));
}

TEST(InitializeTest, StatisticsAreReset) {
  const NetworkConfig config = ParseNetwork("dcgan { width: 4 }");
  const auto network = MakeGenerator(config, kInitializeData);
  ASSERT_OK(network);
  InitializeParameters(**network, config, 7);
  (*network)->forward(torch::ones({2, 100}), {}, ForwardMode::kTrain);
  InitializeParameters(**network, config, 7);
  const auto buffers = (*network)->named_buffers();
  EXPECT_EQ(buffers["main.1.running_mean"].abs().max().item<float>(), 0);
  EXPECT_TRUE(at::equal(buffers["main.1.running_var"], torch::ones({16})));
  EXPECT_EQ(buffers["main.1.num_batches_tracked"].item<int64_t>(), 0);
}

}  // namespace
}  // namespace gandem
