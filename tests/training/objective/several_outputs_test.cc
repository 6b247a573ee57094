// SPDX-License-Identifier: Apache-2.0
//
// A discriminator with several outputs equals the mean of discriminators with
// one output each.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "models/network.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "training/objective/critic.h"
#include "training/objective/fused.h"
#include "training/objective/losses.h"
#include "training/objective/penalties.h"

namespace gandem {
namespace {

const Compute kInDoubles = {.dtype = at::kDouble};
constexpr int64_t kImagesOfOutputs = 4;

// Returns one logit per image, and a map of six.
std::vector<at::Tensor> BothOutputs(const at::Tensor& images_NCHW) {
  const at::Tensor x = at::tanh(images_NCHW);
  return {x.square().sum({1, 2, 3}) - 3,
          x.select(1, 0).narrow(1, 0, 2).narrow(2, 0, 3) +
              x.mean({1, 2, 3}).view({-1, 1, 1}).pow(3)};
}

// A discriminator with output `which`, or with both outputs if `which` is -1.
class TwoOutputs : public Discriminator {
 public:
  explicit TwoOutputs(int which) : which_(which) {}
  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode) override {
    const std::vector<at::Tensor> outputs = BothOutputs(images_NCHW);
    return {.logits = which_ < 0
                          ? Logits(outputs)
                          : Logits(outputs[static_cast<size_t>(which_)])};
  }

 private:
  const int which_;
};

at::Tensor Mean(const at::Tensor& a, const at::Tensor& b) {
  return (a + b) / 2;
}

class SeveralOutputsTest : public ::testing::Test {
 protected:
  SeveralOutputsTest() {
    torch::manual_seed(3);
    real_ = torch::randn({kImagesOfOutputs, 2, 4, 4}, torch::kFloat64);
    generated_ = torch::randn({kImagesOfOutputs, 2, 4, 4}, torch::kFloat64);
  }

  static void ExpectNear(const at::Tensor& a, const at::Tensor& b) {
    EXPECT_EQ(a.sizes(), b.sizes());
    EXPECT_LT((a - b).abs().max().item<double>(), 1e-14);
  }

  at::Tensor real_;
  at::Tensor generated_;
};

TEST_F(SeveralOutputsTest, LossesWithoutPairsAreMeans) {
  const std::vector<at::Tensor> outputs = BothOutputs(real_);
  const Logits both(outputs);
  for (const Loss loss :
       {NON_SATURATING, SATURATING, LEAST_SQUARES, HINGE, WASSERSTEIN}) {
    SCOPED_TRACE(Loss_Name(loss));
    for (const auto part :
         {RealLoss, GeneratedLoss, GeneratorLoss, GeneratorLosses}) {
      ExpectNear(part(loss, both, kImagesOfOutputs),
                 Mean(part(loss, outputs[0], kImagesOfOutputs),
                      part(loss, outputs[1], kImagesOfOutputs)));
    }
  }
  ExpectNear(LogitSum(both),
             Mean(outputs[0].sum(), outputs[1].flatten(1).mean(1).sum()));
}

// Each output is compared with the average logit of the same output.
TEST_F(SeveralOutputsTest, PairLossesAreMeans) {
  const std::vector<at::Tensor> real = BothOutputs(real_);
  const std::vector<at::Tensor> generated = BothOutputs(generated_);
  for (const Loss loss : {RELATIVISTIC_PAIRED, RELATIVISTIC_AVERAGE}) {
    for (const auto pair : {DiscriminatorPairLoss, GeneratorPairLoss}) {
      ExpectNear(pair(loss, Logits(real), Logits(generated)),
                 Mean(pair(loss, real[0], generated[0]),
                      pair(loss, real[1], generated[1])));
    }
  }
}

// An image's gradient is that of the mean of its outputs, each a mean.
TEST_F(SeveralOutputsTest, PenaltiesUseTheMeanOfTheOutputs) {
  at::Tensor leaf = real_.clone().set_requires_grad(true);
  const std::vector<at::Tensor> outputs = BothOutputs(leaf);
  const at::Tensor of_both = ImageGradient(Logits(outputs), leaf);
  ExpectNear(of_both, Mean(ImageGradient(outputs[0], leaf),
                           ImageGradient(outputs[1], leaf)));
  EXPECT_TRUE(SquaredNormPenalties(of_both).requires_grad());

  const std::vector<at::Tensor> copies = BothOutputs(generated_);
  ExpectNear(
      ConsistencyPenalties({.logits = Logits(outputs)},
                           {.logits = Logits(copies)}),
      Mean(
          ConsistencyPenalties({.logits = outputs[0]}, {.logits = copies[0]}),
          ConsistencyPenalties({.logits = outputs[1]}, {.logits = copies[1]})));
}

TEST_F(SeveralOutputsTest, FeedbackUsesTheMeanOfTheOutputs) {
  for (const Loss loss : {HINGE, NON_SATURATING, RELATIVISTIC_AVERAGE}) {
    SCOPED_TRACE(Loss_Name(loss));
    const ObjectiveOptions objective = {.loss = loss};
    const JudgedImages judged = {.images_NCHW = generated_, .real_NCHW = real_};
    std::vector<Judgment> judgments;
    std::vector<TrainedJudgment> trained;
    for (const int which : {-1, 0, 1}) {
      TwoOutputs critic(which);
      judgments.push_back(
          JudgeImages(critic, judged, objective, kImagesOfOutputs, kInDoubles));
      TrainingPass pass = {.images_NCHW =
                               generated_.clone().set_requires_grad(true)};
      pass.verdict = critic.forward(pass.images_NCHW, {}, ForwardMode::kTrain);
      pass.real_logits = critic.forward(real_, {}, ForwardMode::kTrain).logits;
      trained.push_back(
          JudgeTrained(pass, objective, kImagesOfOutputs, kInDoubles));
    }
    ExpectNear(judgments[0].gradient_NCHW,
               Mean(judgments[1].gradient_NCHW, judgments[2].gradient_NCHW));
    EXPECT_NEAR(judgments[0].loss.Value(),
                (judgments[1].loss.Value() + judgments[2].loss.Value()) / 2,
                1e-14);
    ExpectNear(trained[0].gradient_NCHW, judgments[0].gradient_NCHW);
    ASSERT_EQ(trained[0].losses.size(), kImagesOfOutputs);
    for (size_t i = 0; i < kImagesOfOutputs; ++i) {
      EXPECT_NEAR(trained[0].losses[i],
                  (trained[1].losses[i] + trained[2].losses[i]) / 2, 1e-14);
    }
  }
}

}  // namespace
}  // namespace gandem
