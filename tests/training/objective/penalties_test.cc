// SPDX-License-Identifier: Apache-2.0
#include "training/objective/penalties.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/validate_parts.h"
#include "models/layers/batch_norm.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/training/objective/small_critics.h"

namespace gandem {
namespace {

using gandem::testing::LinearCritic;
using gandem::testing::QuadraticCritic;

at::Tensor Image(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64)
      .view({1, 1, 1, static_cast<int64_t>(values.size())});
}

at::Tensor GradientAt(Discriminator& critic, const at::Tensor& images) {
  const at::Tensor leaf = images.detach().clone().set_requires_grad(true);
  return ImageGradient(
      critic.forward(leaf, {}, ForwardMode::kFrozen).logits.One(), leaf);
}

// Values from models.md 4.3.
TEST(PenaltiesTest, PenaltiesOfALinearCriticHaveKnownValues) {
  LinearCritic critic(torch::tensor({3.0, 4.0}, torch::kFloat64));
  const at::Tensor gradient = GradientAt(critic, Image({0.3, -7}));
  EXPECT_NEAR(UnitNormPenalties(gradient).item<double>(), 16, 1e-12);
  EXPECT_NEAR(SquaredNormPenalties(gradient).item<double>(), 12.5, 1e-12);
}

// The last row is trap T8: a plain root has no derivative at 0.
TEST(PenaltiesTest, PenaltiesOfAQuadraticCriticAreFiniteAtSlopeZero) {
  for (const auto& [alpha, penalty] :
       std::vector<std::pair<double, double>>{{0.5, 2.25}, {1, 16}, {0, 1}}) {
    QuadraticCritic critic;
    const at::Tensor between =
        Interpolate(Image({3, 4}), Image({0, 0}),
                    torch::full({1, 1}, alpha, torch::kFloat64));
    const at::Tensor value =
        UnitNormPenalties(GradientAt(critic, between)).mean();
    EXPECT_NEAR(value.item<double>(), penalty, 1e-12) << alpha;
    value.backward();
    const at::Tensor& by_scale = critic.parameters().front().grad();
    EXPECT_TRUE(by_scale.isfinite().all().item<bool>()) << alpha;
    // d(5 alpha scale - 1)^2 / d(scale)
    EXPECT_NEAR(by_scale.item<double>(), 2 * (5 * alpha - 1) * 5 * alpha, 1e-9);
  }
}

TEST(PenaltiesTest, ImagesDoNotAffectEachOther) {
  QuadraticCritic critic;
  const at::Tensor images = at::cat({Image({3, 4}), Image({0, 2})});
  const at::Tensor squares = SquaredNormPenalties(GradientAt(critic, images));
  EXPECT_EQ(squares.sizes(), at::IntArrayRef({2}));
  EXPECT_NEAR(squares[0].item<double>(), 12.5, 1e-12);
  EXPECT_NEAR(squares[1].item<double>(), 2, 1e-12);

  const at::Tensor leaf = images.clone().set_requires_grad(true);
  const at::Tensor patches = leaf * torch::tensor({1.0, 3.0}, torch::kFloat64);
  EXPECT_TRUE(ImageGradient(patches, leaf)
                  .allclose(torch::tensor({0.5, 1.5}, torch::kFloat64)));
}

TEST(PenaltiesTest, LazyGradientsAreMultipliedByTheInterval) {
  const PenaltyOptions every_step;
  const PenaltyOptions lazy{.gradient_every_steps = 4};
  double sum = 0;
  for (int64_t step = 0; step < 8; ++step) {
    EXPECT_EQ(every_step.GradientFactor(step), 1);
    EXPECT_EQ(lazy.GradientFactor(step) > 0, step % 4 == 0);
    sum += lazy.GradientFactor(step);
  }
  EXPECT_EQ(sum, 8);
}

TEST(PenaltiesTest, PenaltyWeightsDecayOnHalfACosine) {
  const PenaltyOptions options{.gradient_every_steps = 2,
                               .gradient_decay_steps = 8,
                               .gradient_final_factor = 0.1};
  EXPECT_EQ(options.GradientFactor(0), 2);
  EXPECT_EQ(options.GradientFactor(1), 0);
  EXPECT_NEAR(options.GradientFactor(4), 2 * 0.55, 1e-15);
  EXPECT_NEAR(options.GradientFactor(6),
              2 * (0.1 + 0.9 * (1 - std::sqrt(0.5)) / 2), 1e-15);
  EXPECT_EQ(options.GradientFactor(8), 0.2);
  EXPECT_EQ(options.GradientFactor(1000), 0.2);
}

TEST(PenaltiesTest, LecamAnchorsFollowTheMeans) {
  LecamAnchors anchors(
      {.lecam = 1, .lecam_decay = 0.75, .lecam_start_step = 2});
  const auto state = [&](int i) {
    return anchors.State().front().second[i].item<double>();
  };
  anchors.Update(0, 8, -8);
  EXPECT_EQ(state(0), 8);
  anchors.Update(1, 4, -2);  // a plain copy before the start
  EXPECT_EQ(state(0), 4);
  EXPECT_EQ(state(1), -2);
  anchors.Update(2, 8, 2);
  EXPECT_EQ(state(0), 5);
  EXPECT_EQ(state(1), -1);
  EXPECT_FALSE(anchors.Active(2));
  EXPECT_TRUE(anchors.Active(3));
  EXPECT_FALSE(LecamAnchors({}).Active(5000));
  EXPECT_TRUE(LecamAnchors({}).State().empty());
}

TEST(PenaltiesTest, PenaltiesAreReadFromTheConfig) {
  PenaltyConfig config;
  config.set_gradient_penalty(1);
  config.set_dragan(2);
  config.set_r1(3);
  config.set_r2(4);
  config.set_gradient_every_steps(5);
  config.set_lecam(6);
  config.set_lecam_decay(0.5);
  config.set_lecam_start_step(7);
  config.set_consistency_real(8);
  config.set_consistency_generated(9);
  const PenaltyOptions options = PenaltiesFrom(config);
  EXPECT_EQ(options.gradient_penalty, 1);
  EXPECT_EQ(options.dragan, 2);
  EXPECT_EQ(options.r1, 3);
  EXPECT_EQ(options.r2, 4);
  EXPECT_EQ(options.gradient_every_steps, 5);
  EXPECT_EQ(options.lecam, 6);
  EXPECT_EQ(options.lecam_decay, 0.5);
  EXPECT_EQ(options.lecam_start_step, 7);
  EXPECT_EQ(options.consistency_real, 8);
  EXPECT_EQ(options.consistency_generated, 9);
}

// Trap T7: the config check and the network must agree on batch norm.

bool ContainsBatchNorm(const torch::nn::Module& network) {
  for (const auto& module : network.modules(/*include_self=*/true)) {
    if (dynamic_cast<const BatchNorm*>(module.get()) != nullptr) return true;
  }
  return false;
}

// Compares at the first image size that the network supports.
bool AgreesOnBatchNorm(const NetworkConfig& config) {
  for (const int64_t classes : {0, 3}) {
    for (const int64_t size : {32, 64, 128, 256}) {
      const auto network = MakeDiscriminator(
          config, {.image = {.channels = 3, .height = size, .width = size},
                   .num_classes = classes});
      if (!network.ok()) continue;
      EXPECT_EQ(DiscriminatorHasBatchNorm(config), ContainsBatchNorm(**network))
          << config.ShortDebugString();
      return true;
    }
  }
  return false;
}

TEST(PenaltiesTest, TheConfigCheckKnowsTheBatchNormOfEveryNetwork) {
  const auto& families =
      *NetworkConfig::descriptor()->FindOneofByName("family");
  int compared = 0;
  for (int i = 0; i < families.field_count(); ++i) {
    NetworkConfig config;
    const auto* reflection = config.GetReflection();
    const auto family = [&] {
      return reflection->MutableMessage(&config, families.field(i));
    };
    const auto& type = *families.field(i)->message_type();
    const auto reset = [&] {
      family()->Clear();
      if (const auto* width = type.FindFieldByName("width")) {
        family()->GetReflection()->SetInt64(family(), width, 8);
      }
    };
    reset();
    compared += AgreesOnBatchNorm(config);
    for (int k = 0; k < type.field_count(); ++k) {
      const auto& field = *type.field(k);
      if (field.is_repeated()) continue;
      if (field.type() == google::protobuf::FieldDescriptor::TYPE_BOOL) {
        for (const bool value : {false, true}) {
          reset();
          family()->GetReflection()->SetBool(family(), &field, value);
          compared += AgreesOnBatchNorm(config);
        }
      } else if (field.type() == google::protobuf::FieldDescriptor::TYPE_ENUM) {
        for (int v = 0; v < field.enum_type()->value_count(); ++v) {
          reset();
          family()->GetReflection()->SetEnum(family(), &field,
                                             field.enum_type()->value(v));
          compared += AgreesOnBatchNorm(config);
        }
      }
    }
  }
  EXPECT_GE(compared, families.field_count());
}

struct Case {
  std::string family;
  std::function<at::Tensor(const at::Tensor&)> penalties;
};

class DoubleBackwardTest : public ::testing::TestWithParam<Case> {};

TEST_P(DoubleBackwardTest, SecondDerivativesEqualFiniteDifferences) {
  NetworkConfig config;
  const bool mlp = GetParam().family == "mlp";
  if (mlp) {
    config.mutable_mlp()->add_hidden(7);
    config.mutable_mlp()->add_hidden(5);
  } else if (GetParam().family == "sndcgan") {
    config.mutable_sndcgan()->set_width(2);
  } else {
    config.mutable_sngan()->set_width(2);
  }
  const int64_t size = mlp ? 8 : 32;
  ASSERT_OK_AND_ASSIGN(
      const auto critic,
      MakeDiscriminator(
          config, {.image = {.channels = 1, .height = size, .width = size}}));
  InitializeParameters(*critic, config, /*seed=*/3);
  critic->to(torch::kFloat64);
  torch::manual_seed(5);
  const at::Tensor images = torch::randn({3, 1, size, size}, torch::kFloat64);
  const auto value = [&] {
    return 10 * GetParam().penalties(GradientAt(*critic, images)).mean();
  };

  value().backward();
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<at::Tensor> direction;
    double slope = 0;
    for (const at::Tensor& parameter : critic->parameters()) {
      direction.push_back(torch::randn_like(parameter));
      if (!parameter.grad().defined()) continue;
      slope += (parameter.grad() * direction.back()).sum().item<double>();
    }
    const auto moved = [&](double by) {
      const torch::NoGradGuard no_grad;
      const auto parameters = critic->parameters();
      for (size_t i = 0; i < parameters.size(); ++i) {
        at::Tensor parameter = parameters[i];
        parameter.add_(direction[i], by);
      }
      const torch::AutoGradMode with_gradient(true);
      return value().item<double>();
    };
    constexpr double kStep = 1e-7;
    const double above = moved(kStep);
    const double below = moved(-2 * kStep);
    moved(kStep);
    const double difference = (above - below) / (2 * kStep);
    EXPECT_NEAR(slope, difference, 1e-5 * std::abs(difference) + 1e-7);
    EXPECT_GT(std::abs(slope), 1e-8);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, DoubleBackwardTest,
                         ::testing::Values(Case{"mlp", UnitNormPenalties},
                                           Case{"mlp", SquaredNormPenalties},
                                           Case{"sndcgan", UnitNormPenalties},
                                           Case{"sndcgan",
                                                SquaredNormPenalties},
                                           Case{"sngan", UnitNormPenalties}),
                         [](const auto& info) {
                           return info.param.family +
                                  std::to_string(info.index);
                         });

}  // namespace
}  // namespace gandem
