// SPDX-License-Identifier: Apache-2.0
#include "training/losses.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "proto/config.pb.h"

namespace gandem {
namespace {

at::Tensor Logits(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

struct Values {
  AdversarialLoss loss;
  double real;
  double generated;
  double discriminator_loss;
  double generator_loss;
};

// models.md 4.1.
TEST(LossesTest, ReferenceValues) {
  const std::vector<Values> rows = {
      {AdversarialLoss::kNonSaturating, 2, -2, 0.253856, 2.126928},
      {AdversarialLoss::kNonSaturating, -0.5, 0.25, 1.800016, 0.575939},
      {AdversarialLoss::kHinge, 2, -2, 0, 2},
      {AdversarialLoss::kHinge, -0.5, 0.25, 2.75, -0.25},
  };
  for (const Values& row : rows) {
    const at::Tensor discriminator =
        RealLoss(row.loss, Logits({row.real}), 1) +
        GeneratedLoss(row.loss, Logits({row.generated}), 1);
    EXPECT_NEAR(discriminator.item<double>(), row.discriminator_loss, 1e-6);
    EXPECT_NEAR(
        GeneratorLoss(row.loss, Logits({row.generated}), 1).item<double>(),
        row.generator_loss, 1e-6);
  }
}

TEST(LossesTest, MicroBatchesAddUpToTheBatchMean) {
  const std::vector<double> values = {-1.5, 0.25, 3, -0.5, 2};
  for (const auto loss :
       {AdversarialLoss::kNonSaturating, AdversarialLoss::kHinge}) {
    for (const auto part : {&RealLoss, &GeneratedLoss, &GeneratorLoss}) {
      double mean = 0;
      for (const double value : values) {
        mean += part(loss, Logits({value}), 1).item<double>() / 5;
      }
      const at::Tensor first = part(loss, Logits({-1.5, 0.25}), 5);
      const at::Tensor second = part(loss, Logits({3, -0.5, 2}), 5);
      EXPECT_NEAR((first + second).item<double>(), mean, 1e-14);
    }
  }
}

// Derivatives by hand: that of softplus(x) is the sigmoid.
TEST(LossesTest, Gradients) {
  const auto gradient = [](const auto& part, AdversarialLoss loss, double at) {
    at::Tensor logit = Logits({at}).requires_grad_();
    part(loss, logit, 4).backward();
    return 4 * logit.grad().item<double>();
  };
  constexpr auto kSoft = AdversarialLoss::kNonSaturating;
  constexpr auto kHinge = AdversarialLoss::kHinge;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  // Far out, where a softplus that is cut off is wrong by 2e-9.
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
    const at::Tensor loss = part(AdversarialLoss::kNonSaturating, logits, 2);
    EXPECT_EQ(loss.item<float>(), 5e3F);
  }
}

TEST(LossesTest, FromConfig) {
  EXPECT_EQ(AdversarialLossOf(NON_SATURATING), AdversarialLoss::kNonSaturating);
  EXPECT_EQ(AdversarialLossOf(HINGE), AdversarialLoss::kHinge);
}

}  // namespace
}  // namespace gandem
