// SPDX-License-Identifier: Apache-2.0
//
// The discriminator's end with several generators, through the functions for
// transports. The contract suite covers one generator.
#include "exchange/discriminator_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/exchange/exchange_testing.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Critic;
using gandem::testing::Feedback;
using gandem::testing::Images;
using gandem::testing::Places;
using gandem::testing::StatusIs;
constexpr auto kDeadline = absl::StatusCode::kDeadlineExceeded;
const absl::Time kPast = absl::InfinitePast();

// Two generators, four images each, and a cache of one round.
ExchangeOptions TwoGenerators(FeedbackMode feedback) {
  ExchangeOptions options =
      gandem::testing::OptionsFor({.lag = 1,
                                   .feedback = feedback,
                                   .generator_batch = 8,
                                   .discriminator_batch = 8});
  options.num_generators = 2;
  options.cache_rounds = 1;
  return options;
}

TEST(DiscriminatorEndTest, AFastRankCannotLockOutASlowOne) {
  const auto end = std::make_unique<DiscriminatorEnd>(
      TwoGenerators(FeedbackMode::kSnapshot));
  EXPECT_TRUE(*end->OfferImages(0, Images(0, 0, 4)));
  EXPECT_TRUE(*end->OfferImages(0, Images(1, 0, 4)));
  // The cache is full, and rank 1 has not sent the images needed first.
  EXPECT_FALSE(*end->OfferImages(1, Images(0, 4, 4)));
  EXPECT_THAT(end->TakeImages(0, 0, 8, kPast), StatusIs(kDeadline));
  EXPECT_FALSE(*end->OfferImages(1, Images(1, 4, 4)));
  EXPECT_TRUE(*end->OfferImages(1, Images(0, 4, 4)));
  ASSERT_OK_AND_ASSIGN(const auto taken, end->TakeImages(0, 0, 8, kPast));
  EXPECT_EQ(Places(taken.pieces).size(), 8u);
}

TEST(DiscriminatorEndTest, WaitingWakesTheTransportThatHoldsABatch) {
  const auto end = std::make_unique<DiscriminatorEnd>(
      TwoGenerators(FeedbackMode::kSnapshot));
  EXPECT_TRUE(*end->OfferImages(0, Images(0, 0, 4)));
  EXPECT_TRUE(*end->OfferImages(0, Images(1, 0, 4)));
  DiscriminatorEnd* const port = end.get();
  end->SetListener([port] { (void)port->OfferImages(1, Images(0, 4, 4)); });
  EXPECT_OK(end->TakeImages(0, 0, 8, Soon()));
}

TEST(DiscriminatorEndTest, ImagesToBeJudgedFirstNeedNoSpace) {
  const auto end = std::make_unique<DiscriminatorEnd>(
      TwoGenerators(FeedbackMode::kImageGradient));
  EXPECT_TRUE(*end->OfferImages(0, Images(0, 0, 4, ImageUse::kBoth)));
  EXPECT_TRUE(*end->OfferImages(0, Images(1, 0, 4, ImageUse::kBoth)));
  EXPECT_FALSE(*end->OfferImages(1, Images(0, 4, 4, ImageUse::kBoth)));
  EXPECT_OK(end->NextFeedbackRequest(0, kPast));
  EXPECT_THAT(end->NextFeedbackRequest(0, kPast), StatusIs(kDeadline));
  EXPECT_TRUE(*end->OfferImages(1, Images(0, 4, 4, ImageUse::kBoth)));
  ASSERT_OK_AND_ASSIGN(const ImageBatch request,
                       end->NextFeedbackRequest(0, kPast));
  EXPECT_EQ(request.first_index, 4);
}

TEST(DiscriminatorEndTest, ImagesForFeedbackOnlyTakeNoSpace) {
  ExchangeOptions options = TwoGenerators(FeedbackMode::kImageGradient);
  options.schedule.image_source = ImageSource::kFresh;
  const auto end = std::make_unique<DiscriminatorEnd>(options);
  EXPECT_TRUE(*end->OfferImages(0, Images(0, 0, 8)));
  EXPECT_TRUE(*end->OfferImages(0, Images(0, 0, 8, ImageUse::kFeedback)));
  EXPECT_TRUE(*end->OfferImages(0, Images(1, 0, 8, ImageUse::kFeedback)));
  EXPECT_EQ(end->stats().cache_images, 8);
  // The window of rounds limits such images.
  EXPECT_THAT(end->OfferImages(0, Images(2, 0, 8, ImageUse::kFeedback)),
              StatusIs(kPrecondition));
}

TEST(DiscriminatorEndTest, AnswersGoToTheRequestingRank) {
  const ExchangeOptions options = TwoGenerators(FeedbackMode::kImageGradient);
  const auto end = std::make_unique<DiscriminatorEnd>(options);
  EXPECT_TRUE(*end->OfferImages(1, Images(0, 4, 4, ImageUse::kBoth)));
  ASSERT_OK(end->NextFeedbackRequest(0, kPast));
  ASSERT_OK(end->AnswerFeedback(Feedback(options.schedule, 0, 4, 4)));
  EXPECT_FALSE(end->NextAnswer(0, 0).has_value());
  ASSERT_TRUE(end->NextAnswer(1, 0).has_value());
  end->AcknowledgeAnswer(1, 0, 4);
  EXPECT_FALSE(end->NextAnswer(1, 0).has_value());
}

TEST(DiscriminatorEndTest, AStateAfterARoundMovesTheWindow) {
  const auto end = std::make_unique<DiscriminatorEnd>(
      TwoGenerators(FeedbackMode::kSnapshot));
  EXPECT_THAT(end->OfferImages(0, Images(2, 0, 4)), StatusIs(kPrecondition));
  // A generator with this critic may send round 2 before FinishRound is called.
  ASSERT_OK(end->PublishCritic(Critic(1), kPast));
  EXPECT_TRUE(*end->OfferImages(0, Images(2, 0, 4)));
}

// Another discriminator, one step ahead, has published the critic.
TEST(DiscriminatorEndTest, ImagesForAPeerOneStepAheadWaitForThisRank) {
  ExchangeOptions options = TwoGenerators(FeedbackMode::kSnapshot);
  options.num_discriminators = 2;
  options.discriminator_skew = 1;
  const auto end = std::make_unique<DiscriminatorEnd>(options);
  EXPECT_FALSE(*end->OfferImages(0, Images(2, 0, 4)));
  EXPECT_THAT(end->OfferImages(0, Images(3, 0, 4)), StatusIs(kPrecondition));
  end->FinishRound(0);
  EXPECT_TRUE(*end->OfferImages(0, Images(2, 0, 4)));
}

TEST(DiscriminatorEndTest, PublishingWaitsForEveryRank) {
  const auto end = std::make_unique<DiscriminatorEnd>(
      TwoGenerators(FeedbackMode::kSnapshot));
  ASSERT_OK(end->PublishCritic(Critic(0), kPast));
  end->AcknowledgeCritic(0, 0);
  EXPECT_THAT(end->PublishCritic(Critic(1), kPast), StatusIs(kDeadline));
  std::thread thread([&] { end->AcknowledgeCritic(1, 0); });
  EXPECT_OK(end->PublishCritic(Critic(1), Soon()));
  thread.join();
  // A finished generator needs no critic.
  end->AcknowledgeCritic(0, 1);
  ASSERT_OK(end->FinishGenerator(1, /*is_confirmed=*/false));
  EXPECT_OK(end->PublishCritic(Critic(2), Soon()));
}

TEST(DiscriminatorEndTest, TheGeneratorThatIsWaitedForIsKnown) {
  const auto end = std::make_unique<DiscriminatorEnd>(
      TwoGenerators(FeedbackMode::kSnapshot));
  EXPECT_THAT(end->TakeImages(0, 0, 8, kPast), StatusIs(kDeadline));
  EXPECT_EQ(end->waits_for(), 0);
  EXPECT_TRUE(*end->OfferImages(0, Images(0, 0, 4)));
  EXPECT_THAT(end->TakeImages(0, 0, 8, kPast), StatusIs(kDeadline));
  EXPECT_EQ(end->waits_for(), 1);
  ASSERT_OK(end->PublishCritic(Critic(0), kPast));
  end->AcknowledgeCritic(1, 0);
  EXPECT_THAT(end->PublishCritic(Critic(1), kPast), StatusIs(kDeadline));
  EXPECT_EQ(end->waits_for(), 0);
}

TEST(DiscriminatorEndTest, EveryRankHasToFinish) {
  const auto end = std::make_unique<DiscriminatorEnd>(
      TwoGenerators(FeedbackMode::kSnapshot));
  ASSERT_OK(end->FinishGenerator(1, /*is_confirmed=*/true));
  EXPECT_THAT(end->WaitForGenerators(kPast), StatusIs(kDeadline));
  EXPECT_THAT(end->OfferImages(1, Images(0, 4, 4)), StatusIs(kPrecondition));
  ASSERT_OK(end->FinishGenerator(0, /*is_confirmed=*/true));
  EXPECT_OK(end->WaitForGenerators(kPast));
}

TEST(DiscriminatorEndTest, InvalidRanksAndRangesAreRefused) {
  const auto end = std::make_unique<DiscriminatorEnd>(
      TwoGenerators(FeedbackMode::kSnapshot));
  EXPECT_THAT(end->OfferImages(2, Images(0, 0, 4)), StatusIs(kInvalid));
  EXPECT_THAT(end->OfferImages(-1, Images(0, 0, 4)), StatusIs(kInvalid));
  EXPECT_THAT(end->FinishGenerator(2, true), StatusIs(kInvalid));
  EXPECT_THAT(end->TakeImages(0, -1, 4, kPast), StatusIs(kInvalid));
  EXPECT_THAT(end->TakeImages(0, 5, 4, kPast), StatusIs(kInvalid));
  EXPECT_THAT(end->TakeImages(0, 0, 9, kPast), StatusIs(kInvalid));
  ExchangeOptions options = TwoGenerators(FeedbackMode::kSnapshot);
  options.schedule.consistency = Consistency::kBounded;
  const auto bounded = std::make_unique<DiscriminatorEnd>(options);
  EXPECT_THAT(bounded->TakeImages(0, 0, 0, kPast), StatusIs(kInvalid));
  EXPECT_THAT(bounded->TakeImages(0, 0, 9, kPast), StatusIs(kInvalid));
}

TEST(DiscriminatorEndTest, BoundedStopsWaitingIfFeedbackIsRequested) {
  ExchangeOptions options = TwoGenerators(FeedbackMode::kImageGradient);
  options.schedule.consistency = Consistency::kBounded;
  const auto end = std::make_unique<DiscriminatorEnd>(options);
  absl::StatusOr<TakenImages> taken;
  std::thread thread([&] { taken = end->TakeImages(0, 0, 8, Soon()); });
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(*end->OfferImages(0, Images(0, 0, 4, ImageUse::kBoth)));
  thread.join();
  ASSERT_OK(taken);
  EXPECT_EQ(taken->end, WaitEnd::kAsked);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  // No request is returned before the lag allows it.
  ASSERT_OK(end->NextFeedbackRequest(99, kPast));
  EXPECT_TRUE(*end->OfferImages(0, Images(1, 0, 4, ImageUse::kBoth)));
  EXPECT_THAT(end->NextFeedbackRequest(99, kPast), StatusIs(kDeadline));
  end->FinishRound(0);
  EXPECT_OK(end->NextFeedbackRequest(99, kPast));
}

}  // namespace
}  // namespace gandem
