// SPDX-License-Identifier: Apache-2.0
#include "extras/ada/ada_probability.h"

#include <gtest/gtest.h>

#include <memory>

#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

// A step has 4 images: `right` of them have a positive logit, the rest a
// negative one.
class AdaProbabilityTest : public ::testing::Test {
 protected:
  void Begin(const AdaOptions& options) {
    options_ = options;
    RegisterAdaBuffer(options_, network_);
    controller_ =
        std::make_unique<AdaProbability>(options_, &network_, /*batch_size=*/4);
  }

  double Step(int64_t right) {
    const at::Tensor logits = torch::full({4}, -0.5);
    logits.narrow(0, 0, right).fill_(0.25);
    // Two micro-batches.
    controller_->Add(logits.narrow(0, 0, 1));
    controller_->Add(logits.narrow(0, 1, 3));
    controller_->EndStep(step_++, /*fleet=*/nullptr);
    return controller_->p();
  }

  torch::nn::Module network_;
  AdaOptions options_;
  std::unique_ptr<AdaProbability> controller_;
  int64_t step_ = 0;
};

TEST_F(AdaProbabilityTest, FollowsTheSignsAfterEveryInterval) {
  Begin({.target = 0.5, .p = 0.5, .interval = 2, .images_to_full = 80});
  EXPECT_EQ(controller_->mean_sign(), std::nullopt);
  EXPECT_EQ(Step(4), 0.5);
  EXPECT_EQ(Step(3), 0.6);  // (4 + 2) / 8 is above 0.5: 8 of 80 images up
  EXPECT_EQ(controller_->mean_sign(), 0.75);
  EXPECT_EQ(Step(3), 0.6);
  EXPECT_EQ(Step(3), 0.6);  // at the target it stays
  EXPECT_EQ(controller_->mean_sign(), 0.5);
  EXPECT_EQ(Step(4), 0.6);
  EXPECT_EQ(Step(0), 0.5);
  EXPECT_EQ(controller_->mean_sign(), 0);
}

TEST_F(AdaProbabilityTest, StaysBetween0And1) {
  Begin({.target = 0, .p = 0.9, .interval = 1, .images_to_full = 12});
  EXPECT_EQ(Step(4), 1);
  EXPECT_EQ(Step(4), 1);
  for (int i = 0; i < 3; ++i) Step(0);
  EXPECT_EQ(controller_->p(), 0);
  EXPECT_EQ(Step(0), 0);
}

TEST_F(AdaProbabilityTest, EachLogitOfAPatchDiscriminatorCounts) {
  Begin({.target = 0, .interval = 1, .images_to_full = 100});
  controller_->Add(torch::tensor({{1.0, 2.0, 3.0}, {-1.0, 0.0, -2.0}}));
  controller_->EndStep(0, nullptr);
  EXPECT_DOUBLE_EQ(controller_->mean_sign().value(), 1.0 / 6);
}

TEST_F(AdaProbabilityTest, AFixedProbabilityHasNoState) {
  Begin({.p = 0.3, .interval = 1, .adaptive = false});
  EXPECT_EQ(Step(4), 0.3);
  EXPECT_TRUE(BuffersOf(network_).empty());
  EXPECT_TRUE(controller_->State().empty());
  EXPECT_EQ(controller_->mean_sign(), std::nullopt);
}

TEST_F(AdaProbabilityTest, NetworksCarryTheirP) {
  Begin({.target = 0, .p = 0.5, .interval = 1, .images_to_full = 8});
  torch::nn::Module critic;
  RegisterAdaBuffer(options_, critic);
  EXPECT_EQ(AdaProbabilityOf(options_, critic), 0.5);
  Step(4);
  ASSERT_TRUE(UnpackModule(PackModule(network_), critic).ok());
  EXPECT_EQ(AdaProbabilityOf(options_, critic), 1);
}

}  // namespace
}  // namespace gandem
