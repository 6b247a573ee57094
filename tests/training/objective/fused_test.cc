// SPDX-License-Identifier: Apache-2.0
#include "training/objective/fused.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/training/objective/small_critics.h"
#include "training/objective/critic.h"

namespace gandem {
namespace {

using gandem::testing::LinearCritic;
using gandem::testing::SmoothCritic;

const Compute kDoubles = {.dtype = at::kDouble};
constexpr int64_t kFusedBatch = 5;

class FusedTest : public ::testing::Test {
 protected:
  FusedTest() {
    torch::manual_seed(3);
    images_ = torch::randn({kFusedBatch, 2, 8, 8}, torch::kFloat64);
    critic_ = std::make_shared<SmoothCritic>(
        torch::randn({3, 2, 3, 3}, torch::kFloat64),
        torch::randn({3 * 6 * 6}, torch::kFloat64));
  }

  // Returns a forward pass of images [first, first + count).
  TrainingPass Pass(const ObjectiveOptions& objective, int64_t first,
                    int64_t count) {
    TrainingPass pass = {
        .images_NCHW =
            images_.narrow(0, first, count).clone().set_requires_grad(true)};
    pass.verdict = critic_->forward(
        DiffAugment(pass.images_NCHW, objective.augmentation,
                    DrawKey{.purpose = Purpose::kAugmentGenerated,
                            .first_index = first}),
        {}, ForwardMode::kTrain);
    return pass;
  }

  static double Difference(const at::Tensor& a, const at::Tensor& b) {
    return ((a - b).norm() / b.norm()).item<double>();
  }

  at::Tensor images_;
  std::shared_ptr<SmoothCritic> critic_;
};

// The generator's loss covers 3 times as many images as the discriminator's.
TEST_F(FusedTest, OnePassEqualsTwoPasses) {
  constexpr int64_t kGeneratorBatch = 3 * kFusedBatch;
  for (const Loss loss :
       {NON_SATURATING, SATURATING, WASSERSTEIN, HINGE, LEAST_SQUARES}) {
    for (const bool augmented : {false, true}) {
      SCOPED_TRACE(Loss_Name(loss) + (augmented ? ", augmented" : ""));
      const ObjectiveOptions objective = {
          .loss = loss,
          .augmentation = {.color = augmented,
                           .translation = augmented ? 0.25 : 0,
                           .cutout = augmented ? 0.5 : 0}};
      TrainingPass pass = Pass(objective, 0, kFusedBatch);
      const TrainedJudgment two =
          JudgeTrained(pass, objective, kGeneratorBatch, kDoubles);
      const at::Tensor logits_N = pass.verdict.logits.One();
      const auto expect_the_same = [&](const at::Tensor& root) {
        pass.images_NCHW.mutable_grad() = at::Tensor();
        root.backward(/*gradient=*/{}, /*retain_graph=*/true);
        const TrainedJudgment one =
            JudgeAfterBackward(pass, objective, kGeneratorBatch);
        EXPECT_LT(Difference(one.gradient_NCHW, two.gradient_NCHW), 1e-12);
        EXPECT_EQ(one.losses, two.losses);
      };
      pass.root_slopes_N = torch::ones_like(logits_N);
      expect_the_same(logits_N.sum());
      pass.root_slopes_N = RootSlopesOfLoss(
          GeneratedSlopes(loss, logits_N, kFusedBatch), kFusedBatch);
      ASSERT_EQ(pass.root_slopes_N.defined(), loss != HINGE);
      if (loss != HINGE) {
        expect_the_same(GeneratedLoss(loss, logits_N, kFusedBatch));
      }
    }
  }
}

// The result does not depend on the place of the pass.
TEST_F(FusedTest, TwoPassesJudgeLikeAFrozenCritic) {
  for (const Loss loss : {NON_SATURATING, HINGE, LEAST_SQUARES}) {
    const ObjectiveOptions objective = {.loss = loss};
    const Judgment frozen =
        JudgeImages(*critic_, {.images_NCHW = images_}, objective, 9, kDoubles);
    double sum = 0;
    for (const auto& [first, count] : {std::pair(0, 2), std::pair(2, 3)}) {
      const TrainedJudgment judgment =
          JudgeTrained(Pass(objective, first, count), objective, 9, kDoubles);
      EXPECT_LT(Difference(judgment.gradient_NCHW,
                           frozen.gradient_NCHW.narrow(0, first, count)),
                1e-12)
          << Loss_Name(loss);
      sum =
          std::accumulate(judgment.losses.begin(), judgment.losses.end(), sum);
    }
    EXPECT_NEAR(sum, frozen.loss.Value(),
                1e-12 * std::abs(frozen.loss.Value()));
  }
}

TEST_F(FusedTest, RelativisticLossesCompareWithTheRealImagesOfTheStep) {
  const at::Tensor real_NCHW =
      torch::randn({kFusedBatch, 2, 8, 8}, torch::kFloat64);
  for (const Loss loss : {RELATIVISTIC_PAIRED, RELATIVISTIC_AVERAGE}) {
    const ObjectiveOptions objective = {.loss = loss};
    TrainingPass pass = Pass(objective, 0, kFusedBatch);
    pass.real_logits =
        critic_->forward(real_NCHW, {}, ForwardMode::kTrain).logits.One();
    const TrainedJudgment trained =
        JudgeTrained(pass, objective, kFusedBatch, kDoubles);
    const Judgment frozen =
        JudgeImages(*critic_, {.images_NCHW = images_, .real_NCHW = real_NCHW},
                    objective, kFusedBatch, kDoubles);
    EXPECT_LT(Difference(trained.gradient_NCHW, frozen.gradient_NCHW), 1e-12);
    EXPECT_NEAR(
        std::accumulate(trained.losses.begin(), trained.losses.end(), 0.0),
        frozen.loss.Value(), 1e-12 * std::abs(frozen.loss.Value()));
  }
}

TEST_F(FusedTest, JudgingDoesNotChangeTheDiscriminatorsGradients) {
  const ObjectiveOptions objective = {.loss = HINGE};
  const auto gradients = [&](bool judged) {
    critic_->zero_grad();
    const TrainingPass pass = Pass(objective, 0, kFusedBatch);
    if (judged) JudgeTrained(pass, objective, kFusedBatch, kDoubles);
    for (const at::Tensor& parameter : critic_->parameters()) {
      EXPECT_FALSE(parameter.grad().defined() &&
                   parameter.grad().any().item<bool>());
    }
    GeneratedLoss(HINGE, pass.verdict.logits.One(), kFusedBatch).backward();
    std::vector<at::Tensor> result;
    for (const at::Tensor& parameter : critic_->parameters()) {
      result.push_back(parameter.grad().clone());
    }
    return result;
  };
  const auto with = gradients(true);
  const auto without = gradients(false);
  for (size_t i = 0; i < with.size(); ++i) {
    EXPECT_TRUE(with[i].equal(without[i]));
  }
}

// The sum of the logits has float32 precision at any logit, the discriminator's
// loss as far as its slope allows.
TEST(FusedPassTest, OnePassKeepsFloat32Precision) {
  const auto critic = std::make_shared<LinearCritic>(
      torch::tensor({1e-3f, 1.0f, -30.0f, 7.0f}));
  const ObjectiveOptions objective = {.loss = NON_SATURATING};
  for (const bool from_loss : {false, true}) {
    for (double logit = -80; logit <= 80; logit += 2.5) {
      SCOPED_TRACE(absl::StrCat(logit, from_loss ? " from the loss" : ""));
      TrainingPass pass = {
          .images_NCHW = torch::tensor({0.0, logit, 0.0, 0.0}, torch::kFloat32)
                             .view({1, 1, 2, 2})
                             .set_requires_grad(true)};
      pass.verdict = critic->forward(pass.images_NCHW, {}, ForwardMode::kTrain);
      const at::Tensor logits_N = pass.verdict.logits.One();
      pass.root_slopes_N =
          from_loss ? RootSlopesOfLoss(
                          GeneratedSlopes(NON_SATURATING, logits_N, 64), 64)
                    : torch::ones({1}, torch::kFloat32);
      EXPECT_EQ(pass.root_slopes_N.defined(), !from_loss || logit > -34.5);
      if (!pass.root_slopes_N.defined()) continue;
      (from_loss ? GeneratedLoss(NON_SATURATING, logits_N, 64) : logits_N.sum())
          .backward();
      const TrainedJudgment judgment = JudgeAfterBackward(pass, objective, 64);
      const double slope = -1 / (1 + std::exp(logit)) / 64;
      for (int i = 0; i < 4; ++i) {
        const double wanted =
            slope * torch::tensor({1e-3, 1.0, -30.0, 7.0})[i].item<double>();
        EXPECT_NEAR(judgment.gradient_NCHW.flatten()[i].item<double>(), wanted,
                    1e-5 * std::abs(wanted) + 1e-42);
      }
    }
  }
}

TEST(LossSlopesTest, SlopesAreTheDerivativesOfTheLosses) {
  const at::Tensor logits_N =
      torch::tensor({-1.5, -0.3, 0.4, 2.0}, torch::kFloat64);
  constexpr double kStep = 1e-6;
  for (const Loss loss :
       {NON_SATURATING, SATURATING, WASSERSTEIN, HINGE, LEAST_SQUARES}) {
    const auto expect = [&](const at::Tensor& slopes_N, auto part) {
      for (int64_t i = 0; i < logits_N.size(0); ++i) {
        const at::Tensor step_N = torch::zeros_like(logits_N);
        step_N[i] = kStep;
        const double difference = (part(loss, logits_N + step_N, 7) -
                                   part(loss, logits_N - step_N, 7))
                                      .template item<double>();
        EXPECT_NEAR(slopes_N[i].item<double>(), difference / (2 * kStep), 1e-8)
            << Loss_Name(loss) << " " << i;
      }
    };
    expect(GeneratedSlopes(loss, logits_N, 7), GeneratedLoss);
    expect(GeneratorSlopes(loss, logits_N, 7), GeneratorLoss);
  }
}

}  // namespace
}  // namespace gandem
