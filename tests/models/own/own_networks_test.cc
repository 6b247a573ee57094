// SPDX-License-Identifier: Apache-2.0
#include "models/own/own_networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <map>
#include <string>

#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "proto/config.pb.h"
#include "tests/models/network_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::ParseNetwork;
using ::gandem::testing::SquareImages;
using ::gandem::testing::StatusIs;
using ::gandem::testing::Waves;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kOwnMomentum = 0.1;  // LibTorch's batch norm

// Has batch norm and a random parameter without an initialization rule.
class PlainGenerator : public OwnGenerator {
 public:
  explicit PlainGenerator(const NetworkShape& shape)
      : shape_(shape),
        linear_(register_module("linear", torch::nn::Linear(3, Values()))),
        norm_(register_module("norm", torch::nn::BatchNorm1d(Values()))),
        scale_(register_parameter("scale", torch::rand({1}) + 1)) {
    static const at::Tensor shared = torch::ones({1});
    if (shape.options == "shared") register_buffer("of_all", shared);
  }

  at::Tensor forward(const at::Tensor& noise_NZ, const at::Tensor&) override {
    const at::Tensor x = norm_->forward(linear_->forward(noise_NZ)) * scale_;
    const int64_t height = shape_.options == "wrong" ? 1 : shape_.height;
    return torch::tanh(x.view(
        {-1, shape_.channels, height, shape_.height * shape_.width / height}));
  }
  int64_t noise_dim() const override { return 3; }

 private:
  int64_t Values() const {
    return shape_.channels * shape_.height * shape_.width;
  }

  const NetworkShape shape_;
  torch::nn::Linear linear_;
  torch::nn::BatchNorm1d norm_;
  at::Tensor scale_;
};

// Has a buffer that forward() increments and, with "needed", multiplies by.
class PlainDiscriminator : public OwnDiscriminator {
 public:
  explicit PlainDiscriminator(const NetworkShape& shape)
      : options_(shape.options),
        linear_(register_module(
            "linear",
            torch::nn::Linear(shape.channels * shape.height * shape.width, 1))),
        norm_(register_module("norm", torch::nn::BatchNorm1d(1))),
        passes_(register_buffer("passes", torch::ones({1}))) {}

  at::Tensor forward(const at::Tensor& images_NCHW,
                     const at::Tensor& labels_N) override {
    saw_labels = labels_N.defined();
    {
      const torch::NoGradGuard no_grad;
      passes_.add_(1);
    }
    const at::Tensor logits =
        norm_->forward(linear_->forward(images_NCHW.flatten(1)));
    if (options_ == "wrong") return logits.sum();
    return options_ == "needed" ? (logits * logits) * passes_ : logits;
  }

  static inline bool saw_labels = false;

 private:
  const std::string options_;
  torch::nn::Linear linear_;
  torch::nn::BatchNorm1d norm_;
  at::Tensor passes_;
};

using OwnState = std::map<std::string, at::Tensor>;

OwnState BuffersNow(const torch::nn::Module& network) {
  OwnState state;
  for (const auto& item : network.named_buffers()) {
    state[item.key()] = item.value().clone();
  }
  return state;
}

void ExpectSameBuffers(const OwnState& a, const OwnState& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
  }
}

class OwnNetworksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    ASSERT_OK(SetOwnNetworks(
        {NetworksNamed<PlainGenerator, PlainDiscriminator>("plain"),
         NetworksNamed<PlainGenerator, PlainDiscriminator>("other")}));
  }
  void TearDown() override { ASSERT_OK(SetOwnNetworks({})); }

  static NetworkConfig Plain(const std::string& options = "") {
    return ParseNetwork("own { name: 'plain' options: '" + options + "' }");
  }
  static std::shared_ptr<Generator> NewGenerator(uint64_t seed = 1) {
    const auto network = MakeGenerator(Plain(), SquareImages(1, 4));
    EXPECT_OK(network);
    InitializeParameters(**network, Plain(), seed);
    return *network;
  }
  static std::shared_ptr<Discriminator> NewDiscriminator(
      const std::string& options = "") {
    const auto network = MakeDiscriminator(Plain(options), SquareImages(1, 4));
    EXPECT_OK(network);
    InitializeParameters(**network, Plain(options), 1);
    return *network;
  }

  const at::Tensor noise_ = Waves({5, 3}, 0.7).to(at::kFloat);
  const at::Tensor images_ = Waves({5, 1, 4, 4}, 0.3).to(at::kFloat);
};

TEST_F(OwnNetworksTest, ATensorSharedByCopiesIsNamed) {
  const auto network = MakeGenerator(Plain("shared"), SquareImages(1, 4));
  ASSERT_OK(network);
  try {
    InitializeParameters(**network, Plain("shared"), /*seed=*/1);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("networks 'plain': all copies of a "
                                        "network share the tensor of_all"));
  }
}

TEST_F(OwnNetworksTest, TrainingRecordsStatistics) {
  const auto network = NewGenerator();
  const at::Tensor mean = network->named_buffers()["own.norm.running_mean"];
  EXPECT_TRUE(at::equal(mean, torch::zeros_like(mean)));
  network->forward(noise_, {}, ForwardMode::kTrain);
  const auto parameters = network->named_parameters();
  const at::Tensor linear = at::linear(noise_, parameters["own.linear.weight"],
                                       parameters["own.linear.bias"]);
  EXPECT_TRUE(at::allclose(mean, kOwnMomentum * linear.mean(0), 1e-5, 1e-6));
}

TEST_F(OwnNetworksTest, AFrozenPassEqualsTrainingAndChangesNothing) {
  const auto network = NewGenerator();
  network->forward(noise_ * 2, {}, ForwardMode::kTrain);
  const OwnState before = BuffersNow(*network);
  const at::Tensor frozen =
      network->forward(noise_, {}, ForwardMode::kFrozen).clone();
  ExpectSameBuffers(BuffersNow(*network), before);
  const at::Tensor evaluated =
      network->forward(noise_, {}, ForwardMode::kEvaluate).clone();
  ExpectSameBuffers(BuffersNow(*network), before);
  EXPECT_FALSE(at::allclose(frozen, evaluated));
  EXPECT_TRUE(
      at::equal(network->forward(noise_, {}, ForwardMode::kTrain), frozen));
}

TEST_F(OwnNetworksTest, AFrozenPassGivesGradients) {
  const auto network = NewDiscriminator();
  const OwnState before = BuffersNow(*network);
  const auto gradient = [&](ForwardMode mode) {
    const at::Tensor images = images_.clone().requires_grad_(true);
    const at::Tensor logits_N = network->forward(images, {}, mode).logits.One();
    EXPECT_EQ(logits_N.sizes(), (std::vector<int64_t>{5}));  // not [5, 1]
    return torch::autograd::grad({logits_N.pow(3).sum()}, {images})[0];
  };
  const at::Tensor frozen = gradient(ForwardMode::kFrozen);
  ExpectSameBuffers(BuffersNow(*network), before);
  EXPECT_TRUE(at::equal(gradient(ForwardMode::kTrain), frozen));
  EXPECT_EQ(BuffersNow(*network).at("own.passes").item<float>(), 2);
}

TEST_F(OwnNetworksTest, AFrozenPassKeepsTheGraphsOfTraining) {
  const auto network = NewDiscriminator();
  const at::Tensor trained = network->forward(images_, {}, ForwardMode::kTrain)
                                 .logits.One()
                                 .pow(3)
                                 .sum();
  const at::Tensor weight = network->named_parameters()["own.linear.weight"];
  const at::Tensor alone =
      torch::autograd::grad({trained}, {weight}, {}, /*retain_graph=*/true)[0];
  network->forward(images_ * 3, {}, ForwardMode::kFrozen);
  EXPECT_TRUE(at::equal(torch::autograd::grad({trained}, {weight})[0], alone));
}

TEST_F(OwnNetworksTest, ABufferNeededByBackwardIsRefused) {
  const auto network = NewDiscriminator("needed");
  const at::Tensor images = images_.clone().requires_grad_(true);
  const at::Tensor logits_N =
      network->forward(images, {}, ForwardMode::kFrozen).logits.One();
  EXPECT_THROW(torch::autograd::grad({logits_N.sum()}, {images}), c10::Error);
}

TEST_F(OwnNetworksTest, TheConstructorInitializesByTheSeed) {
  const auto values = [](uint64_t seed) {
    return NewGenerator(seed)->named_parameters()["own.scale"].clone();
  };
  const at::Tensor one = values(1);
  EXPECT_GE(one.item<float>(), 1);  // random, not zero
  torch::manual_seed(99);           // must have no effect
  torch::rand({7});
  EXPECT_TRUE(at::equal(values(1), one));
  EXPECT_FALSE(at::equal(values(2), one));
}

TEST_F(OwnNetworksTest, NetworksReceiveTheGivenLabels) {
  const DataShape data = {.image = {.channels = 1, .height = 4, .width = 4},
                          .num_classes = 3};
  ASSERT_OK_AND_ASSIGN(const auto network, MakeDiscriminator(Plain(), data));
  network->forward(images_, {.labels_N = torch::zeros({5}, at::kLong)},
                   ForwardMode::kTrain);
  EXPECT_TRUE(PlainDiscriminator::saw_labels);
  network->forward(images_, {}, ForwardMode::kTrain);
  EXPECT_FALSE(PlainDiscriminator::saw_labels);
}

TEST_F(OwnNetworksTest, InvalidShapesAreNamed) {
  const auto message_of = [](auto act) -> std::string {
    try {
      act();
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    }
    return "";
  };
  ASSERT_OK_AND_ASSIGN(const auto generator,
                       MakeGenerator(Plain("wrong"), SquareImages(1, 4)));
  EXPECT_THAT(
      message_of([&] { generator->forward(noise_, {}, ForwardMode::kTrain); }),
      AllOf(HasSubstr("'plain': the generator's images are [5, 1, 1, "
                      "16]"),
            HasSubstr("[5, 1, 4, 4]")));
  const auto discriminator = NewDiscriminator("wrong");
  EXPECT_THAT(message_of([&] {
                discriminator->forward(images_, {}, ForwardMode::kTrain);
              }),
              HasSubstr("'plain': the discriminator's logits are []"));
}

TEST_F(OwnNetworksTest, AnUnknownNetworkNameIsRefused) {
  EXPECT_THAT(
      MakeGenerator(ParseNetwork("own { name: 'plaim' }"), SquareImages(1, 4))
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("did you mean 'plain'?"),
                     HasSubstr("It has plain, other"))));
  EXPECT_THAT(
      MakeDiscriminator(ParseNetwork("own {}"), SquareImages(1, 4)).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("network.own.name is missing")));
  ASSERT_OK(SetOwnNetworks({}));
  EXPECT_THAT(MakeGenerator(Plain(), SquareImages(1, 4)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("GANDEM_WORKER=PATH")));
}

TEST_F(OwnNetworksTest, DuplicateOrInvalidNamesAreRefused) {
  const auto named = [](const std::string& name) {
    return NetworksNamed<PlainGenerator, PlainDiscriminator>(name);
  };
  EXPECT_THAT(SetOwnNetworks({named("a"), named("b"), named("a")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("two networks have the name 'a'")));
  EXPECT_THAT(
      SetOwnNetworks({named("")}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("need a name")));
  EXPECT_THAT(SetOwnNetworks({{.name = "c"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'c': make_generator and")));
  EXPECT_OK(MakeGenerator(Plain(), SquareImages(1, 4)).status());
}

}  // namespace
}  // namespace gandem
