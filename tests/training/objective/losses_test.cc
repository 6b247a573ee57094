// SPDX-License-Identifier: Apache-2.0
#include "training/objective/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "common/config/loss_needs.h"
#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

at::Tensor LogitsOf(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

struct Values {
  Loss loss;
  double real;
  double generated;
  double discriminator_loss;
  double generator_loss;
};

// Values from models.md 4.1.
TEST(LossesTest, LossesHaveTheReferenceValues) {
  const std::vector<Values> rows = {
      {NON_SATURATING, 2, -2, 0.253856, 2.126928},
      {NON_SATURATING, -0.5, 0.25, 1.800016, 0.575939},
      {HINGE, 2, -2, 0, 2},
      {HINGE, -0.5, 0.25, 2.75, -0.25},
      {LEAST_SQUARES, 2, -2, 2.5, 4.5},
      {LEAST_SQUARES, -0.5, 0.25, 1.15625, 0.28125},
      {WASSERSTEIN, 2, -2, -4, 2},
      {WASSERSTEIN, -0.5, 0.25, 0.75, -0.25},
  };
  for (const Values& row : rows) {
    const at::Tensor discriminator =
        RealLoss(row.loss, LogitsOf({row.real}), 1) +
        GeneratedLoss(row.loss, LogitsOf({row.generated}), 1);
    EXPECT_NEAR(discriminator.item<double>(), row.discriminator_loss, 1e-6);
    EXPECT_NEAR(
        GeneratorLoss(row.loss, LogitsOf({row.generated}), 1).item<double>(),
        row.generator_loss, 1e-6);
  }
}

TEST(LossesTest, PairLossesHaveTheReferenceValues) {
  constexpr auto kPaired = RELATIVISTIC_PAIRED;
  const auto discriminator = [](double real, double generated) {
    return DiscriminatorPairLoss(kPaired, LogitsOf({real}),
                                 LogitsOf({generated}))
        .item<double>();
  };
  const auto generator = [](double real, double generated) {
    return GeneratorPairLoss(kPaired, LogitsOf({real}), LogitsOf({generated}))
        .item<double>();
  };
  EXPECT_NEAR(discriminator(2, -2), 0.018150, 1e-6);
  EXPECT_NEAR(generator(2, -2), 4.018150, 1e-6);
  EXPECT_NEAR(discriminator(-0.5, 0.25), 1.136871, 1e-6);
  EXPECT_NEAR(generator(-0.5, 0.25), 0.386871, 1e-6);
}

// Compared with autograd, micro-batch by micro-batch; where an image equals its
// target, the slope is 0 as in PyTorch.
TEST(LossesTest, PairedL1IsAddedToTheGradient) {
  constexpr int64_t kBatch = 5;
  constexpr double kWeight = 100;
  torch::manual_seed(1);
  const at::Tensor images =
      torch::randn({kBatch, 2, 3, 3}, at::kDouble).set_requires_grad(true);
  at::Tensor targets = torch::randn({kBatch, 2, 3, 3}, at::kDouble);
  targets[1] = images[1].detach();
  const at::Tensor loss = kWeight * at::l1_loss(images, targets);
  const at::Tensor other = torch::randn_like(images);
  const at::Tensor want =
      other + torch::autograd::grad({loss}, {images}).front();
  const at::Tensor gradient = other.detach().clone();
  double sum = 0;
  for (const auto& [first, count] :
       {std::pair<int64_t, int64_t>{0, 2}, {2, 3}}) {
    sum += AddPairedL1(images.narrow(0, first, count),
                       targets.narrow(0, first, count), kWeight, kBatch,
                       gradient.narrow(0, first, count))
               .item<double>();
  }
  EXPECT_NEAR(sum, loss.item<double>(), 1e-10);
  EXPECT_TRUE(at::allclose(gradient, want, 1e-12, 1e-12));
  EXPECT_FALSE(gradient.requires_grad());
}

// Only these losses depend on which real and generated logits are paired.
TEST(LossesTest, PairsAndAveragesAreKept) {
  const at::Tensor real = LogitsOf({1, -2});
  const at::Tensor generated = LogitsOf({0.5, 3});
  const at::Tensor swapped = LogitsOf({3, 0.5});
  const auto loss = [&](Loss kind, const at::Tensor& other) {
    return DiscriminatorPairLoss(kind, real, other).item<double>();
  };
  constexpr auto kPaired = RELATIVISTIC_PAIRED;
  constexpr auto kAverage = RELATIVISTIC_AVERAGE;
  EXPECT_GT(std::abs(loss(kPaired, generated) - loss(kPaired, swapped)), 0.1);
  EXPECT_NEAR(loss(kAverage, generated), loss(kAverage, swapped), 1e-12);
}

TEST(LossesTest, LogitsOfAnImageAreAveraged) {
  const at::Tensor patches =
      LogitsOf({3, -1, 0.5, 0.25, -0.5, 2, 1, -3}).view({2, 1, 2, 2});
  for (const auto part : {&RealLoss, &GeneratedLoss, &GeneratorLoss}) {
    const double mean = part(HINGE, patches.flatten(), 8).item<double>();
    EXPECT_NEAR(part(HINGE, patches, 2).item<double>(), mean, 1e-14);
  }
  EXPECT_NEAR(LogitSum(patches).item<double>(), (2.75 - 0.5) / 4, 1e-14);
}

TEST(LossesTest, MicroBatchesAddUpToTheBatchMean) {
  const std::vector<double> values = {-1.5, 0.25, 3, -0.5, 2};
  for (const auto loss :
       {NON_SATURATING, SATURATING, LEAST_SQUARES, HINGE, WASSERSTEIN}) {
    for (const auto part : {&RealLoss, &GeneratedLoss, &GeneratorLoss}) {
      double mean = 0;
      for (const double value : values) {
        mean += part(loss, LogitsOf({value}), 1).item<double>() / 5;
      }
      const at::Tensor first = part(loss, LogitsOf({-1.5, 0.25}), 5);
      const at::Tensor second = part(loss, LogitsOf({3, -0.5, 2}), 5);
      EXPECT_NEAR((first + second).item<double>(), mean, 1e-14);
    }
  }
}

// Derivatives by hand; the derivative of softplus(x) is the sigmoid.
TEST(LossesTest, GradientsEqualTheDerivatives) {
  const auto gradient = [](const auto& part, Loss loss, double at) {
    at::Tensor logit = LogitsOf({at}).requires_grad_();
    part(loss, logit, 4).backward();
    return 4 * logit.grad().item<double>();
  };
  constexpr auto kSoft = NON_SATURATING;
  constexpr auto kHinge = HINGE;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  // For large arguments a truncated softplus is wrong by 2e-9.
  for (const double x : {-30.0, -0.5, 0.0, 1.0, 21.0}) {
    EXPECT_NEAR(gradient(RealLoss, kSoft, x), -sigmoid(-x), 1e-15);
    EXPECT_NEAR(gradient(GeneratedLoss, kSoft, x), sigmoid(x), 1e-15);
    EXPECT_NEAR(gradient(GeneratorLoss, kSoft, x), -sigmoid(-x), 1e-15);
    EXPECT_EQ(gradient(RealLoss, kHinge, x), x < 1 ? -1 : 0);
    EXPECT_EQ(gradient(GeneratedLoss, kHinge, x), x > -1 ? 1 : 0);
    EXPECT_EQ(gradient(GeneratorLoss, kHinge, x), -1);
  }
}

TEST(LossesTest, LargeLogitsStayFinite) {
  const at::Tensor logits = torch::tensor({-1e4F, 1e4F});
  for (const auto part : {&RealLoss, &GeneratedLoss, &GeneratorLoss}) {
    const at::Tensor loss = part(NON_SATURATING, logits, 2);
    EXPECT_EQ(loss.item<float>(), 5e3F);
  }
}

TEST(LossesTest, LossesAreReadFromTheConfig) {
  for (int i = 0; i < Loss_descriptor()->value_count(); ++i) {
    const Loss loss = static_cast<Loss>(Loss_descriptor()->value(i)->number());
    const LossNeeds needs = NeedsOf(loss);
    EXPECT_EQ(IsRelativistic(loss), needs.whole_batch);
    EXPECT_EQ(needs.whole_batch, needs.real_images_in_generator_step);
  }
}

}  // namespace
}  // namespace gandem
