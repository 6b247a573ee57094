// SPDX-License-Identifier: Apache-2.0
//
// ADA in the loss of a discriminator's steps.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "discriminator_worker/discriminator_objective.h"
#include "extras/ada/ada_pipeline.h"
#include "models/torch.h"
#include "training/objective/augment.h"

namespace gandem {
namespace {

constexpr int64_t kBatch = 6;

// Remembers its inputs.
class ListeningCritic : public Discriminator {
 public:
  ListeningCritic()
      : weight_(register_parameter(
            "weight", torch::linspace(-1, 1, 64, torch::kFloat64))) {}
  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode) override {
    seen.push_back(images_NCHW.detach().clone());
    return {.logits = images_NCHW.flatten(1).mv(weight_)};
  }
  std::vector<at::Tensor> seen;

 private:
  const at::Tensor weight_;
};

// p belongs to the network, changes after a step and holds for the whole next
// step.
TEST(AdaObjectiveTest, UsesTheProbabilityOfTheNetwork) {
  torch::manual_seed(2);
  const at::Tensor real = torch::randn({kBatch, 1, 8, 8}, torch::kFloat64);
  const at::Tensor generated = torch::randn({kBatch, 1, 8, 8}, torch::kFloat64);
  const auto critic = std::make_shared<ListeningCritic>();
  const AdaOptions ada = {
      .target = -1, .interval = 1, .images_to_full = 2 * kBatch};
  AddAdaBuffer(ada, *critic);
  DiscriminatorObjective objective({.augmentation = {.ada = ada}, .seed = 3},
                                   critic, kBatch);
  for (const int64_t step : {0, 1}) {
    objective.BeginStep(step, real, {{.count = real.size(0)}});
    objective.Real(real, {}, 0);
    objective.Generated(generated, {}, 0);
    objective.EndStep();
  }
  const auto augmented = [](const at::Tensor& images, Purpose purpose) {
    return AdaAugment(images, 0.5,
                      UniformDraws({.seed = 3, .purpose = purpose, .step = 1},
                                   kBatch, kAdaDraws));
  };
  ASSERT_EQ(critic->seen.size(), 4u);
  EXPECT_TRUE(critic->seen[0].equal(real));
  EXPECT_TRUE(critic->seen[1].equal(generated));
  EXPECT_TRUE(critic->seen[2].equal(augmented(real, Purpose::kAugmentReal)));
  EXPECT_TRUE(
      critic->seen[3].equal(augmented(generated, Purpose::kAugmentGenerated)));
  EXPECT_EQ(objective.ada()->p(), 1);
}

TEST(AdaObjectiveTest, WithoutAdaNothingIsAugmented) {
  const auto critic = std::make_shared<ListeningCritic>();
  AddAdaBuffer(std::nullopt, *critic);
  EXPECT_TRUE(critic->named_buffers().is_empty());
  const DiscriminatorObjective objective({}, critic, kBatch);
  EXPECT_EQ(objective.ada(), nullptr);
}

}  // namespace
}  // namespace gandem
