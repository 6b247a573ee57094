// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/discriminator_objective.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/foreign_network.h"
#include "models/registry/initialize.h"
#include "models/registry/registry.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/training/objective/small_critics.h"
#include "training/objective/fused.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

using gandem::testing::LinearCritic;
using gandem::testing::SmoothCritic;

constexpr int64_t kBatch = 6;

// A critic with foreign layers that adds no parameter weights.
class ForeignCritic : public SmoothCritic, public HasForeignLayers {
 public:
  using SmoothCritic::SmoothCritic;
  std::string WhyTwoPasses() const override { return ""; }
};

class DiscriminatorObjectiveTest : public ::testing::Test {
 protected:
  DiscriminatorObjectiveTest() {
    torch::manual_seed(2);
    real_ = torch::randn({kBatch, 2, 8, 8}, torch::kFloat64);
    generated_ = torch::randn({kBatch, 2, 8, 8}, torch::kFloat64);
    kernel_ = torch::randn({3, 2, 3, 3}, torch::kFloat64);
    weight_ = torch::randn({3 * 6 * 6}, torch::kFloat64);
  }

  struct Step {
    double loss = 0;
    std::vector<at::Tensor> gradients;
  };

  // Runs steps 0 to `steps` - 1 without updates and returns the last one.
  Step Run(const ObjectiveOptions& options, int64_t micro_batch,
           int64_t steps = 1, bool real_first = true) {
    const auto critic = std::make_shared<SmoothCritic>(kernel_, weight_);
    DiscriminatorObjective objective(options, critic, kBatch);
    Step result;
    for (int64_t step = 0; step < steps; ++step) {
      critic->zero_grad();
      result.loss = 0;
      const auto add = [&](const DiscriminatorObjective::Share& share) {
        if (!share.loss.defined()) return;
        share.root.backward();
        result.loss += share.loss.item<double>();
      };
      objective.BeginStep(step, real_, {{.count = real_.size(0)}});
      const auto real = [&] {
        for (int64_t i = 0; i < kBatch; i += micro_batch) {
          add(objective.Real(real_.narrow(0, i, micro_batch), {}, i));
        }
      };
      if (real_first) real();
      for (int64_t i = 0; i < kBatch; i += micro_batch) {
        add(objective.Generated(generated_.narrow(0, i, micro_batch), {}, i));
      }
      if (!real_first) real();
      objective.EndStep();
    }
    for (const at::Tensor& parameter : critic->parameters()) {
      result.gradients.push_back(parameter.grad().clone());
    }
    return result;
  }

  void ExpectSame(const Step& a, const Step& b) {
    EXPECT_NEAR(a.loss, b.loss, 1e-12 * std::abs(b.loss));
    for (size_t i = 0; i < a.gradients.size(); ++i) {
      EXPECT_LE((a.gradients[i] - b.gradients[i]).norm().item<double>(),
                1e-12 * b.gradients[i].norm().item<double>());
    }
  }

  at::Tensor real_, generated_, kernel_, weight_;
};

const std::map<std::string, ObjectiveOptions>& Separable() {
  static const auto* const options =
      new std::map<std::string, ObjectiveOptions>{
          {"hinge", {.loss = HINGE}},
          {"gradient_penalty",
           {.loss = WASSERSTEIN, .penalties = {.gradient_penalty = 10}}},
          {"dragan", {.penalties = {.dragan = 10}}},
          {"r1_r2", {.penalties = {.r1 = 3, .r2 = 2}}},
          {"lecam", {.penalties = {.lecam = 0.3, .lecam_start_step = 0}}},
          {"consistency",
           {.penalties = {.consistency_real = 10, .consistency_generated = 5}}},
          {"augmented",
           {.penalties = {.gradient_penalty = 10, .r1 = 1},
            .augmentation = {.color = true, .translation = 0.2, .cutout = 0.5},
            .seed = 7}}};
  return *options;
}

TEST_F(DiscriminatorObjectiveTest, MicroBatchesAddUpToTheBatch) {
  for (const auto& [name, options] : Separable()) {
    SCOPED_TRACE(name);
    const Step whole = Run(options, kBatch, /*steps=*/3);
    ExpectSame(Run(options, 2, 3), whole);
    ExpectSame(Run(options, 1, 3), whole);
  }
}

TEST_F(DiscriminatorObjectiveTest, GeneratedImagesMayComeFirst) {
  for (const auto& [name, options] : Separable()) {
    if (options.penalties.gradient_penalty > 0) continue;
    SCOPED_TRACE(name);
    ExpectSame(Run(options, 2, 3, /*real_first=*/false), Run(options, 2, 3));
  }
}

// Checks one augmentation, through which the gradient passes; penalties and the
// loss are unchanged.
TEST_F(DiscriminatorObjectiveTest,
       ImagesThatNeedAGradientAreReturnedWithTheirPass) {
  const ObjectiveOptions options = {
      .penalties = {.r2 = 2},
      .augmentation = {.color = true, .translation = 0.2, .cutout = 0.5},
      .seed = 7};
  const auto critic = std::make_shared<SmoothCritic>(kernel_, weight_);
  DiscriminatorObjective objective(options, critic, kBatch);
  objective.BeginStep(0, real_, {{.count = real_.size(0)}});
  const auto plain = objective.Generated(generated_, {}, 0);
  EXPECT_FALSE(plain.pass.images_NCHW.defined());
  const at::Tensor leaf = generated_.clone().set_requires_grad(true);
  const auto share = objective.Generated(leaf, {}, 0);
  EXPECT_TRUE(share.pass.images_NCHW.is_same(leaf));
  EXPECT_EQ(share.loss.item<double>(), plain.loss.item<double>());
  EXPECT_EQ(share.logit_sum.item<double>(),
            share.pass.verdict.logits.One().sum().item<double>());
  const at::Tensor slope =
      torch::autograd::grad({share.pass.verdict.logits.One().sum()}, {leaf}, {},
                            /*retain_graph=*/true)
          .front();
  EXPECT_GT(slope.norm().item<double>(), 0);
}

TEST_F(DiscriminatorObjectiveTest, TermsAddUp) {
  const double plain = Run({}, kBatch, 3).loss;
  for (const auto& [name, options] : Separable()) {
    if (name == "hinge" || name == "gradient_penalty" || name == "augmented")
      continue;
    const double with = Run(options, kBatch, 3).loss;
    EXPECT_GT(with, plain + 1e-6) << name;
    ObjectiveOptions twice = options;
    twice.penalties.dragan *= 2;
    twice.penalties.r1 *= 2;
    twice.penalties.r2 *= 2;
    twice.penalties.lecam *= 2;
    twice.penalties.consistency_real *= 2;
    twice.penalties.consistency_generated *= 2;
    EXPECT_NEAR(Run(twice, kBatch, 3).loss - plain, 2 * (with - plain), 1e-9)
        << name;
  }
}

TEST_F(DiscriminatorObjectiveTest, ValuesMatchThoseComputedByHand) {
  // The slope is (3, 4) everywhere: GP is (5 - 1)^2, R1 and R2 are 12.5 each.
  const auto critic = std::make_shared<LinearCritic>(
      torch::tensor({3.0, 4.0}, torch::kFloat64));
  const at::Tensor zero = torch::zeros({1, 1, 1, 2}, torch::kFloat64);
  const ObjectiveOptions options = {
      .loss = WASSERSTEIN,
      .penalties = {.gradient_penalty = 10, .r1 = 1, .r2 = 0.5}};
  DiscriminatorObjective objective(options, critic, 1);
  objective.BeginStep(0, zero, {{.count = zero.size(0)}});
  EXPECT_NEAR(objective.Real(zero + 1, {}, 0).loss.item<double>(), -7 + 12.5,
              1e-12);
  EXPECT_NEAR(objective.Generated(zero, {}, 0).loss.item<double>(),
              160 + 0.5 * 12.5, 1e-12);
}

TEST_F(DiscriminatorObjectiveTest, LazyPenaltiesAreInEveryNthStep) {
  ObjectiveOptions lazy{
      .penalties = {.gradient_penalty = 1, .r1 = 1, .gradient_every_steps = 2}};
  const double plain = Run({}, kBatch).loss;
  EXPECT_NEAR(Run(lazy, kBatch, 2).loss, plain, 1e-12);
  lazy.penalties.gradient_every_steps = 1;
  const double every = Run(lazy, kBatch, 3).loss - plain;
  lazy.penalties.gradient_every_steps = 2;
  // The step determines the interpolation draws, whichever penalties are due.
  EXPECT_NEAR(Run(lazy, kBatch, 3).loss - plain, 2 * every, 1e-9);
}

// Both gradients come from the loss, except where its slope is zero.
TEST_F(DiscriminatorObjectiveTest, ForeignLayersStartTheOnePassAtTheLoss) {
  for (const Loss loss : {NON_SATURATING, WASSERSTEIN, LEAST_SQUARES, HINGE}) {
    SCOPED_TRACE(Loss_Name(loss));
    const ObjectiveOptions options = {.loss = loss, .fused_in_one_pass = true};
    const auto critic = std::make_shared<ForeignCritic>(kernel_, weight_);
    DiscriminatorObjective objective(options, critic, kBatch);
    objective.BeginStep(0, real_, {{.count = kBatch}});
    const auto share =
        objective.Generated(generated_.clone().set_requires_grad(true), {}, 0);
    objective.EndStep();
    // With HINGE some images have a known slope.
    ASSERT_EQ(share.pass.root_slopes_N.defined(), loss != HINGE);
    const TrainedJudgment two =
        JudgeTrained(share.pass, options, kBatch, {.dtype = at::kDouble});
    share.root.backward();

    SmoothCritic plain(kernel_, weight_);
    GeneratedLoss(
        loss, plain.forward(generated_, {}, ForwardMode::kTrain).logits, kBatch)
        .backward();
    for (const auto& item : plain.named_parameters()) {
      const at::Tensor wanted = item.value().grad();
      const at::Tensor found = critic->named_parameters()[item.key()].grad();
      EXPECT_LE((found - wanted).norm().item<double>(),
                1e-12 * wanted.norm().item<double>());
    }
    if (loss == HINGE) continue;
    const TrainedJudgment one = JudgeAfterBackward(share.pass, options, kBatch);
    EXPECT_EQ(one.losses, two.losses);
    EXPECT_LE((one.gradient_NCHW - two.gradient_NCHW).norm().item<double>(),
              1e-12 * two.gradient_NCHW.norm().item<double>());
  }
}

TEST_F(DiscriminatorObjectiveTest, RelativisticLossesWaitForBothKinds) {
  const auto critic = std::make_shared<SmoothCritic>(kernel_, weight_);
  for (const auto loss : {RELATIVISTIC_PAIRED, RELATIVISTIC_AVERAGE}) {
    DiscriminatorObjective objective({.loss = loss, .penalties = {.r1 = 2}},
                                     critic, kBatch);
    objective.BeginStep(0, real_, {{.count = real_.size(0)}});
    const auto real = objective.Real(real_, {}, 0);
    EXPECT_FALSE(real.loss.defined());
    const auto both = objective.Generated(generated_, {}, 0);
    objective.EndStep();

    const at::Tensor leaf = real_.clone().set_requires_grad(true);
    const auto logits = [&](const at::Tensor& images) {
      return critic->forward(images, {}, ForwardMode::kFrozen).logits.One();
    };
    const at::Tensor real_logits = logits(leaf);
    const at::Tensor expected =
        DiscriminatorPairLoss(loss, real_logits, logits(generated_)) +
        2 * SquaredNormPenalties(ImageGradient(real_logits, leaf)).mean();
    EXPECT_NEAR(both.loss.item<double>(), expected.item<double>(), 1e-12);
    critic->zero_grad();
    expected.backward();
    const at::Tensor by_kernel = critic->parameters()[0].grad().clone();
    critic->zero_grad();
    both.loss.backward();
    EXPECT_TRUE(critic->parameters()[0].grad().allclose(by_kernel));
  }
}

// Critic that records the arguments of each pass.
class ListeningCritic : public SmoothCritic {
 public:
  using SmoothCritic::SmoothCritic;
  struct Pass {
    at::Tensor images_NCHW;
    at::Tensor labels_N;
    DrawPlace place;
    ForwardMode mode;
  };
  Verdict forward(const at::Tensor& images_NCHW, const Condition& condition,
                  ForwardMode mode) override {
    passes.push_back({images_NCHW.detach().clone(), condition.labels_N,
                      condition.place, mode});
    return SmoothCritic::forward(images_NCHW, condition, mode);
  }
  std::vector<Pass> passes;
};

// models.md 4.3: D receives the labels of the real images at the points in
// between. Trap T13: real and generated images have separate passes, and the
// passes of penalties freeze the state, so that batch statistics never mix.
TEST_F(DiscriminatorObjectiveTest, PassesAreSeparateAndPenaltiesFrozen) {
  const auto critic = std::make_shared<ListeningCritic>(kernel_, weight_);
  DiscriminatorObjective objective(
      {.penalties = {.gradient_penalty = 1, .consistency_real = 1}}, critic,
      kBatch);
  const Condition of_real{.labels_N = torch::arange(kBatch)};
  const Condition of_generated{.labels_N = torch::zeros({kBatch}, at::kLong)};
  objective.BeginStep(0, real_, {{.count = real_.size(0)}});
  objective.Real(real_, of_real, 0);
  objective.Generated(generated_, of_generated, 0);
  ASSERT_EQ(critic->passes.size(), 4u);
  EXPECT_TRUE(critic->passes[0].images_NCHW.equal(real_));
  EXPECT_EQ(critic->passes[0].mode, ForwardMode::kTrain);
  EXPECT_EQ(critic->passes[1].mode, ForwardMode::kFrozen);
  EXPECT_TRUE(critic->passes[1].labels_N.equal(of_real.labels_N));
  EXPECT_TRUE(critic->passes[2].images_NCHW.equal(generated_));
  EXPECT_EQ(critic->passes[2].mode, ForwardMode::kTrain);
  EXPECT_TRUE(critic->passes[2].labels_N.equal(of_generated.labels_N));
  EXPECT_EQ(critic->passes[3].mode, ForwardMode::kFrozen);
  EXPECT_TRUE(critic->passes[3].labels_N.equal(of_real.labels_N));

  const at::Tensor alpha =
      UniformDraws({.purpose = Purpose::kPenaltyPoint}, kBatch, 1);
  EXPECT_TRUE(critic->passes[3].images_NCHW.equal(
      Interpolate(real_, generated_, alpha)));
}

TEST_F(DiscriminatorObjectiveTest, BothKindsOfImagesAreAugmented) {
  const auto critic = std::make_shared<ListeningCritic>(kernel_, weight_);
  const AugmentOptions augmentation = {.color = true, .translation = 0.25};
  DiscriminatorObjective objective({.augmentation = augmentation, .seed = 3},
                                   critic, kBatch);
  objective.BeginStep(5, real_, {{.count = real_.size(0)}});
  objective.Real(real_, {}, 0);
  objective.Generated(generated_, {}, 0);
  const auto seen = [&](const at::Tensor& images, Purpose purpose) {
    return DiffAugment(images, augmentation,
                       {.seed = 3, .purpose = purpose, .step = 5});
  };
  EXPECT_TRUE(
      critic->passes[0].images_NCHW.equal(seen(real_, Purpose::kAugmentReal)));
  EXPECT_TRUE(critic->passes[1].images_NCHW.equal(
      seen(generated_, Purpose::kAugmentGenerated)));
}

// DRAGAN's points surround the discriminator's inputs, at the standard
// deviation of the whole augmented batch.
TEST_F(DiscriminatorObjectiveTest, DraganUsesAugmentedImages) {
  const AugmentOptions augmentation = {.cutout = 0.75};  // zeros: much closer
  const at::Tensor seen =
      DiffAugment(real_, augmentation,
                  {.seed = 3, .purpose = Purpose::kAugmentReal, .step = 5});
  const double deviation = seen.std().item<double>();
  ASSERT_LT(deviation, real_.std().item<double>() - 0.01);
  for (const int64_t micro_batch : {kBatch, kBatch / 2}) {
    const auto critic = std::make_shared<ListeningCritic>(kernel_, weight_);
    DiscriminatorObjective objective(
        {.penalties = {.dragan = 1}, .augmentation = augmentation, .seed = 3},
        critic, kBatch);
    objective.BeginStep(5, real_, {{.count = real_.size(0)}});
    for (int64_t i = 0; i < kBatch; i += micro_batch) {
      objective.Real(real_.narrow(0, i, micro_batch), {}, i);
      const at::Tensor points = critic->passes.back().images_NCHW;
      const at::Tensor draws = UniformDraws({.seed = 3,
                                             .purpose = Purpose::kPenaltyPoint,
                                             .step = 5,
                                             .first_index = i},
                                            micro_batch, 1 + 2 * 8 * 8);
      EXPECT_TRUE(points.allclose(
          Perturb(seen.narrow(0, i, micro_batch), deviation, draws), 0, 1e-12));
    }
  }
}

// Dropout masks depend on the place of a pass. A copy has the masks of its
// original image.
TEST_F(DiscriminatorObjectiveTest, EveryPassHasAPlace) {
  const auto critic = std::make_shared<ListeningCritic>(kernel_, weight_);
  DiscriminatorObjective objective(
      {.penalties = {.gradient_penalty = 1, .consistency_real = 1}}, critic,
      kBatch);
  constexpr int64_t kStep = 4;
  constexpr int64_t kFirst = 3;
  const Condition elsewhere = {
      .place = {.purpose = Purpose::kGeneratorNoise, .step = 77}};
  objective.BeginStep(kStep, real_, {{.count = real_.size(0)}});
  objective.Real(real_.narrow(0, kFirst, 3), elsewhere, kFirst);
  objective.Generated(generated_.narrow(0, kFirst, 3), elsewhere, kFirst);
  const Purpose purposes[] = {Purpose::kAugmentReal, Purpose::kAugmentReal,
                              Purpose::kAugmentGenerated,
                              Purpose::kPenaltyPoint};
  ASSERT_EQ(critic->passes.size(), std::size(purposes));
  for (size_t i = 0; i < critic->passes.size(); ++i) {
    const DrawPlace& place = critic->passes[i].place;
    EXPECT_EQ(place.purpose, purposes[i]) << i;
    EXPECT_EQ(place.step, kStep) << i;
    EXPECT_EQ(place.first_index, kFirst) << i;
  }
}

TEST(DiscriminatorObjectiveStateTest, PenaltiesChangeNoState) {
  NetworkConfig config;
  config.mutable_sndcgan()->set_width(2);
  const auto buffers_after = [&](const PenaltyOptions& penalties) {
    const std::shared_ptr<Discriminator> network = *MakeDiscriminator(
        config, {.image = {.channels = 1, .height = 32, .width = 32}});
    InitializeParameters(*network, config, /*seed=*/1);
    torch::manual_seed(1);
    const at::Tensor images = torch::randn({2, 1, 32, 32});
    DiscriminatorObjective objective({.penalties = penalties}, network, 2);
    objective.BeginStep(0, images, {{.count = images.size(0)}});
    objective.Real(images, {}, 0).root.backward();
    objective.Generated(-images, {}, 0).root.backward();
    objective.EndStep();
    return network->buffers();
  };
  const auto plain = buffers_after({});
  const auto with = buffers_after({.gradient_penalty = 10,
                                   .r1 = 1,
                                   .r2 = 1,
                                   .consistency_real = 1,
                                   .consistency_generated = 1});
  ASSERT_EQ(plain.size(), with.size());
  ASSERT_FALSE(plain.empty());
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(plain[i].equal(with[i]));
  }
}

}  // namespace
}  // namespace gandem
