// SPDX-License-Identifier: Apache-2.0
//
// FUSED's giver alone: its answers, their time and their version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "discriminator_worker/feedback_giver.h"
#include "exchange/discriminator_end.h"
#include "models/torch.h"
#include "tests/testing/delayed_exchange.h"
#include "tests/testing/status_matchers.h"
#include "tests/training/objective/small_critics.h"

namespace gandem {
namespace {

using gandem::testing::DelayDiscriminator;
using gandem::testing::LinearCritic;
using gandem::testing::StatusIs;
using ::testing::ElementsAre;

// Images of two values, scored by 3 x + 4 y.
constexpr TensorFormat kPairFormat = {
    .encoding = Encoding::kFloat64, .channels = 1, .height = 1, .width = 2};
// Two steps of four images per round.
constexpr Schedule kTwoSteps = {.discriminator_steps_per_round = 2,
                                .feedback = FeedbackMode::kFused,
                                .generator_batch = 8,
                                .discriminator_batch = 4};

class FusedGiverTest : public ::testing::Test {
 protected:
  FusedGiverTest()
      : end_(std::make_unique<DiscriminatorEnd>(
            ExchangeOptions{.schedule = kTwoSteps,
                            .image_format = kPairFormat,
                            .feedback_format = kPairFormat})),
        refusing_(DelayDiscriminator(end_.get(), {.max_refusals = 3})) {
    Use(end_.get());
  }

  void Use(DiscriminatorExchange* exchange) {
    giver_ = MakeFeedbackGiver({.plan = plan_,
                                .place = {},
                                .compute = {.dtype = at::kDouble},
                                .network = critic_,
                                .new_critic = {},
                                .condition = NoCondition,
                                .real_images = {},
                                .exchange = exchange,
                                .gate = &gate_,
                                .timer = &timer_});
  }

  // Sends a micro-batch of the generator.
  void Send(int64_t round, int64_t first, int64_t count) {
    std::vector<std::byte> bytes(count * kPairFormat.BytesPerImage());
    ASSERT_TRUE(
        *end_->OfferImages(0, {.use = ImageUse::kBoth,
                               .round = round,
                               .first_index = first,
                               .count = count,
                               .generator_version = round,
                               .format = kPairFormat,
                               .pixels = SharedBytes(std::move(bytes))}));
  }

  // Trains on images [first, first + count).
  void Train(int64_t round, int64_t first, int64_t count) {
    TrainingPass pass = {
        .images_NCHW = torch::randn({count, 1, 1, 2}, torch::kFloat64)
                           .set_requires_grad(giver_->WantsImageGradients())};
    pass.verdict = critic_->forward(pass.images_NCHW, {}, ForwardMode::kTrain);
    if (one_pass_) {
      pass.root_slopes_N = torch::ones({count}, torch::kFloat64);
    }
    int backwards = 0;
    EXPECT_OK(giver_->GiveInTraining(
        {.round = round, .first_index = first, .pass = pass}, [&] {
          ++backwards;
          if (one_pass_) {
            pass.verdict.logits.One().sum().backward();
          } else {
            GeneratedLoss(WASSERSTEIN, pass.verdict.logits.One(),
                          kTwoSteps.discriminator_batch)
                .backward();
          }
        }));
    EXPECT_EQ(backwards, 1);
  }

  // Returns first index, count and version of the pending answers.
  std::vector<std::tuple<int64_t, int64_t, int64_t>> Answers() {
    std::vector<std::tuple<int64_t, int64_t, int64_t>> answers;
    while (const auto next = end_->NextAnswer(0, 0)) {
      const FeedbackBatch& answer = next->answer;
      answers.emplace_back(answer.first_index, answer.count,
                           answer.critic_version);
      // The generator's loss is -(3 x + 4 y) / 8, summed over the images.
      std::vector<double> gradient(2 * answer.count);
      EXPECT_EQ(answer.gradient.size(), gradient.size() * sizeof(double));
      std::memcpy(gradient.data(), answer.gradient.data(),
                  answer.gradient.size());
      for (size_t i = 0; i < gradient.size(); ++i) {
        EXPECT_NEAR(gradient[i], i % 2 == 0 ? -3.0 / 8 : -4.0 / 8, 1e-15);
      }
      end_->AcknowledgeAnswer(0, answer.round, answer.first_index);
    }
    return answers;
  }

  bool one_pass_ = false;
  const std::shared_ptr<LinearCritic> critic_ = std::make_shared<LinearCritic>(
      torch::tensor({3.0, 4.0}, torch::kFloat64));
  const RunPlan plan_ = {.exchange = {.schedule = kTwoSteps,
                                      .image_format = kPairFormat,
                                      .feedback_format = kPairFormat},
                         .objective = {.loss = WASSERSTEIN}};
  RoundGate gate_{0, 100};
  RoundTimer timer_;
  std::unique_ptr<DiscriminatorEnd> end_;
  std::unique_ptr<DiscriminatorExchange> refusing_;
  std::unique_ptr<FeedbackGiver> giver_;
};

TEST_F(FusedGiverTest, AnAnswerIsSentWhenItsLastImageWasTrainedOn) {
  for (const bool one_pass : {false, true}) {
    one_pass_ = one_pass;
    Use(end_.get());
    const int64_t round = one_pass ? 1 : 0;
    Send(round, 0, 3);
    Send(round, 3, 3);
    Send(round, 6, 2);
    Train(round, 0, 2);
    EXPECT_THAT(Answers(), ElementsAre());
    Train(round, 2, 2);
    EXPECT_THAT(Answers(), ElementsAre(std::tuple(0, 3, 2 * round)));
    // Image 3 of the first step, 4 and 5 of the second.
    Train(round, 4, 4);
    EXPECT_THAT(Answers(), ElementsAre(std::tuple(3, 3, 2 * round),
                                       std::tuple(6, 2, 2 * round + 1)));
    end_->FinishRound(round);
    giver_->EnterBoundary(round + 1);
    EXPECT_OK(giver_->GiveDue(absl::InfinitePast()));
  }
}

TEST_F(FusedGiverTest, OnePassMayAnswerSeveralRequests) {
  for (int64_t first = 0; first < 8; first += 2) Send(0, first, 2);
  Train(0, 0, 4);
  EXPECT_THAT(Answers(), ElementsAre(std::tuple(0, 2, 0), std::tuple(2, 2, 0)));
  Train(0, 4, 4);
  EXPECT_THAT(Answers(), ElementsAre(std::tuple(4, 2, 1), std::tuple(6, 2, 1)));
}

// An exchange may be called again later: the next pass, or the boundary, sends
// the remaining answers.
TEST_F(FusedGiverTest, ARequestThatWasNotReturnedIsAnsweredLater) {
  Use(refusing_.get());
  Send(0, 0, 8);
  Train(0, 0, 4);
  Train(0, 4, 4);
  giver_->EnterBoundary(1);
  absl::Status given;
  do {
    given = giver_->GiveDue(absl::InfinitePast());
  } while (absl::IsDeadlineExceeded(given));
  EXPECT_OK(given);
  EXPECT_THAT(Answers(), ElementsAre(std::tuple(0, 8, 0)));
}

TEST_F(FusedGiverTest, NothingIsDueBeforeImagesWereTrainedOn) {
  Send(0, 0, 8);
  EXPECT_OK(giver_->GiveDue(absl::InfinitePast()));
  EXPECT_THAT(Answers(), ElementsAre());
}

TEST_F(FusedGiverTest, AClosedExchangeEndsTheGiver) {
  Send(0, 0, 8);
  end_->Close(absl::AbortedError("over"));
  TrainingPass pass = {
      .images_NCHW =
          torch::zeros({4, 1, 1, 2}, torch::kFloat64).set_requires_grad(true)};
  pass.verdict = critic_->forward(pass.images_NCHW, {}, ForwardMode::kTrain);
  EXPECT_THAT(giver_->GiveInTraining(
                  {.round = 0, .first_index = 0, .pass = pass}, [] {}),
              StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace gandem
