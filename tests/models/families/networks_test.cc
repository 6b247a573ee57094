// SPDX-License-Identifier: Apache-2.0
//
// Requirements on the forward modes of every family (network.h).
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>

#include "common/config/validate_parts.h"
#include "models/layers/parameter_weights.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Ramp;

struct NetworksCase {
  const char* config;
  int64_t size = 32;
};

void PrintTo(const NetworksCase& c, std::ostream* out) {
  *out << c.config << " " << c.size;
}

using State = std::map<std::string, at::Tensor>;

State StateOf(const torch::nn::Module& network) {
  State state;
  for (const auto& item : network.named_parameters()) {
    state[item.key()] = item.value().detach().clone();
  }
  for (const auto& item : network.named_buffers()) {
    state[item.key()] = item.value().clone();
  }
  return state;
}

bool Equal(const State& a, const State& b) {
  for (const auto& [name, tensor] : a) {
    if (!at::equal(tensor, b.at(name))) return false;
  }
  return true;
}

class NetworksTest : public ::testing::TestWithParam<NetworksCase> {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    NetworkConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().config,
                                                              &config));
    const int64_t size = GetParam().size;
    DataShape data = {.image = {.channels = 1, .height = size, .width = size}};
    if (config.has_sagan() || config.has_biggan() || config.has_r3gan() ||
        config.has_stylegan2()) {
      data.num_classes = 3;
    }
    ASSERT_OK_AND_ASSIGN(generator_, MakeGenerator(config, data));
    ASSERT_OK_AND_ASSIGN(discriminator_, MakeDiscriminator(config, data));
    for (torch::nn::Module* network :
         {static_cast<torch::nn::Module*>(generator_.get()),
          static_cast<torch::nn::Module*>(discriminator_.get())}) {
      network->to(torch::kFloat64);
    }
    InitializeParameters(*generator_, config, 7);
    InitializeParameters(*discriminator_, config, 7);
    noise_ = Ramp({3, generator_->noise_dim()});
    images_ = Ramp({3, 1, size, size});
    condition_ = {.labels_N = torch::tensor({2, 0, 1}),
                  .images_NCHW = images_.flip(3)};
    generator_->forward(noise_, condition_, ForwardMode::kTrain);
    discriminator_->forward(images_, condition_, ForwardMode::kTrain);
  }

  std::shared_ptr<Generator> generator_;
  std::shared_ptr<Discriminator> discriminator_;
  at::Tensor noise_;
  at::Tensor images_;
  Condition condition_;  // unsupported parts are ignored
};

TEST_P(NetworksTest, FrozenAndEvaluatePassesChangeNoState) {
  const State generator = StateOf(*generator_);
  const State discriminator = StateOf(*discriminator_);
  for (const auto mode : {ForwardMode::kFrozen, ForwardMode::kEvaluate}) {
    generator_->forward(noise_, condition_, mode).sum().backward();
    discriminator_->forward(images_, condition_, mode)
        .logits.One()
        .sum()
        .backward();
    EXPECT_TRUE(Equal(StateOf(*generator_), generator));
    EXPECT_TRUE(Equal(StateOf(*discriminator_), discriminator));
  }
}

TEST_P(NetworksTest, ForwardPassesDoNotChangeTheirInput) {
  const at::Tensor noise = noise_.clone();
  const at::Tensor images = images_.clone();
  generator_->forward(noise_, condition_, ForwardMode::kTrain);
  discriminator_->forward(images_, condition_, ForwardMode::kTrain);
  EXPECT_TRUE(at::equal(noise_, noise));
  EXPECT_TRUE(at::equal(images_, images));
}

TEST_P(NetworksTest, ImagesAreInRange) {
  const at::Tensor images =
      generator_->forward(noise_, condition_, ForwardMode::kTrain);
  const NetworkConfig config = gandem::testing::ParseNetwork(GetParam().config);
  if (!config.has_r3gan() && !config.has_stylegan2()) {  // without tanh
    EXPECT_LT(images.abs().max().item<double>(), 1);
  }
  EXPECT_GT(images.std().item<double>(), 0);
}

TEST_P(NetworksTest, ImageGradientOfACriticEqualsTheLiveNetworks) {
  const auto gradient = [this] {
    const at::Tensor leaf = images_.clone().requires_grad_();
    const at::Tensor logits =
        discriminator_->forward(leaf, condition_, ForwardMode::kFrozen)
            .logits.One();
    return torch::autograd::grad({logits.square().sum()}, {leaf})[0];
  };
  const at::Tensor live = gradient();
  for (at::Tensor& parameter : discriminator_->parameters()) {
    EXPECT_FALSE(parameter.grad().defined());
    parameter.requires_grad_(false);
  }
  EXPECT_TRUE(at::equal(gradient(), live));
}

// Every layer with a parameter needs parameter_weights.h; otherwise FUSED runs
// would train with a wrong gradient.
TEST_P(NetworksTest, WeightsOfImagesReachEveryParameterAndNoImage) {
  const NetworkConfig config = gandem::testing::ParseNetwork(GetParam().config);
  if (DiscriminatorHasBatchNorm(config) ||
      DiscriminatorComparesImages(config)) {
    return;  // no such gradient if images affect each other
  }
  const at::Tensor weights_N = torch::tensor({0.0, -0.3, 2.5}, torch::kFloat64);
  const auto gradients = [&](bool weighed) {
    discriminator_->zero_grad();
    const at::Tensor leaf = images_.clone().requires_grad_();
    const at::Tensor late_N = at::zeros_like(weights_N);
    const at::Tensor logits_N = [&] {
      const ParameterWeightsScope scope(weighed ? late_N : at::Tensor());
      return discriminator_->forward(leaf, condition_, ForwardMode::kFrozen)
          .logits.One();
    }();
    late_N.copy_(weights_N);
    if (weighed) {
      logits_N.sum().backward();
    } else {
      (logits_N * weights_N).sum().backward();
      leaf.mutable_grad() =
          torch::autograd::grad(
              {discriminator_->forward(leaf, condition_, ForwardMode::kFrozen)
                   .logits.One()
                   .sum()},
              {leaf})
              .front();
    }
    State state;
    state["images"] = leaf.grad();
    for (const auto& item : discriminator_->named_parameters()) {
      if (item.value().grad().defined()) {
        state[item.key()] = item.value().grad().clone();
      }
    }
    return state;
  };
  const State weighed = gradients(true);
  const State plain = gradients(false);
  ASSERT_EQ(weighed.size(), plain.size());
  EXPECT_GT(plain.size(), 2u);
  for (const auto& [name, gradient] : plain) {
    const double scale = gradient.abs().max().item<double>();
    EXPECT_LE((weighed.at(name) - gradient).abs().max().item<double>(),
              1e-12 * scale + 1e-14)
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, NetworksTest,
    ::testing::Values(
        NetworksCase{"mlp { hidden: 8 hidden: 6 }"},
        NetworksCase{"mlp { hidden: [8, 6] batch_norm: true }"},
        NetworksCase{"dcgan { width: 4 }"},
        NetworksCase{"sndcgan { width: 4 }"},
        NetworksCase{"sndcgan { width: 4 spectral_norm: false }"},
        NetworksCase{"sngan { width: 4 }"},
        NetworksCase{"sngan { width: 1 norm: BATCH pool: MEAN }", 48},
        NetworksCase{"sngan { width: 1 thin: true }", 64},
        NetworksCase{"keras_dcgan { width: 2 }", 64},
        NetworksCase{"keras_dcgan { width: 2 variant: SNGAN }", 64},
        NetworksCase{"keras_dcgan { width: 2 variant: WGAN_GP }", 64},
        NetworksCase{"wgan_gp { width: 1 }", 64},
        NetworksCase{"dcgan5 { width: 2 }", 28},
        NetworksCase{"dcgan5 { width: 2 }", 64},
        NetworksCase{"dcgan5 { width: 2 form: RADFORD }", 64},
        NetworksCase{"pix2pix { width: 2 }", 64},
        NetworksCase{"sagan { width: 4 }"},
        NetworksCase{"sagan { width: 4 class_norm: EMBEDDING }"},
        NetworksCase{"biggan { width: 4 }"},
        NetworksCase{"biggan { width: 4 head: CONTRASTIVE }"},
        NetworksCase{"biggan { width: 2 form: DEEP }"},
        NetworksCase{"r3gan { width: 8 groups: 2 }"},
        NetworksCase{"r3gan { width: 8 groups: 4 widest_until: 16 }", 64},
        NetworksCase{"stylegan2 { channel_base: 64 max_channels: 8 }", 16},
        NetworksCase{"stylegan2 { channel_base: 64 max_channels: 8 "
                     "            deviation_group: 1 block: PLAIN }"}));

// A family must pass the place of the pass to its dropout layers (network.h).
TEST(DropoutNetworksTest, MasksDependOnThePlace) {
  const NetworkConfig keras = gandem::testing::ParseNetwork(
      "keras_dcgan { variant: WGAN_GP width: 2 }");
  const DataShape data = gandem::testing::SquareImages(1, 64);
  ASSERT_OK_AND_ASSIGN(const auto critic, MakeDiscriminator(keras, data));
  InitializeParameters(*critic, keras, /*seed=*/7);
  critic->to(torch::kFloat64);
  const at::Tensor images_NCHW = Ramp({5, 1, 64, 64});
  const auto judge = [&](int64_t step, int64_t first, int64_t count) {
    return critic
        ->forward(images_NCHW.narrow(0, first, count),
                  {.place = {.purpose = Purpose::kAugmentReal,
                             .step = step,
                             .first_index = first}},
                  ForwardMode::kTrain)
        .logits.One();
  };
  const at::Tensor whole = judge(3, 0, 5);
  EXPECT_TRUE(judge(3, 2, 3).allclose(whole.narrow(0, 2, 3), 0, 1e-12));
  EXPECT_FALSE(judge(4, 0, 5).allclose(whole, 0, 1e-9));

  const NetworkConfig unet =
      gandem::testing::ParseNetwork("pix2pix { width: 2 }");
  ASSERT_OK_AND_ASSIGN(const auto translator, MakeGenerator(unet, data));
  InitializeParameters(*translator, unet, /*seed=*/7);
  translator->to(torch::kFloat64);
  const auto translate = [&](int64_t step) {
    return translator->forward(
        torch::empty({5, 0}, at::kDouble),
        {.images_NCHW = images_NCHW,
         .place = {.purpose = Purpose::kGeneratorNoise, .step = step}},
        ForwardMode::kFrozen);
  };
  EXPECT_TRUE(at::equal(translate(3), translate(3)));
  EXPECT_FALSE(translate(4).allclose(translate(3), 0, 1e-9));
}

}  // namespace
}  // namespace gandem
