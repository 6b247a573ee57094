// SPDX-License-Identifier: Apache-2.0
#include "exchange/fleet_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "exchange/discriminator_end.h"
#include "exchange/in_process_exchange.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Images;
using gandem::testing::Places;
using gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr absl::Time kNow = absl::InfinitePast();  // a single attempt

// Tests with one generator and three discriminators, which own images 0-2, 3-4
// and 5-6 of a round.
class FleetExchangeTest : public ::testing::Test {
 protected:
  void Open(const Schedule& schedule) {
    schedule_ = schedule;
    std::vector<std::unique_ptr<GeneratorExchange>> generator_ends;
    for (int rank = 0; rank < 3; ++rank) {
      ExchangeOptions options = gandem::testing::OptionsFor(schedule);
      options.num_discriminators = 3;
      options.cache_rounds = 1;
      options.rank = rank;
      ends_.push_back(std::make_unique<DiscriminatorEnd>(options));
      options.rank = 0;
      generator_ends.push_back(
          CreateInProcessGenerator(options, ends_.back().get()));
      options_ = options;
    }
    fleet_ = CreateFleetExchange(options_, std::move(generator_ends));
  }

  Schedule schedule_;
  ExchangeOptions options_;
  std::vector<std::unique_ptr<DiscriminatorEnd>> ends_;
  std::unique_ptr<GeneratorExchange> fleet_;  // destroyed before the ends
};

TEST_F(FleetExchangeTest, EachImageGoesToTheRankThatTrainsOnIt) {
  Open({.generator_batch = 7, .discriminator_batch = 7});
  ASSERT_OK(fleet_->PutImages(Images(0, 0, 4), kNow));
  ASSERT_OK(fleet_->PutImages(Images(0, 4, 3), kNow));
  ASSERT_OK_AND_ASSIGN(const auto first, ends_[0]->TakeImages(0, 0, 3, kNow));
  EXPECT_THAT(Places(first.pieces),
              ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2)));
  ASSERT_OK_AND_ASSIGN(const auto second, ends_[1]->TakeImages(0, 3, 2, kNow));
  EXPECT_THAT(Places(second.pieces), ElementsAre(Pair(0, 3), Pair(0, 4)));
  EXPECT_EQ(second.pieces.size(), 2u);
  ASSERT_OK_AND_ASSIGN(const auto third, ends_[2]->TakeImages(0, 5, 2, kNow));
  EXPECT_THAT(Places(third.pieces), ElementsAre(Pair(0, 5), Pair(0, 6)));
}

TEST_F(FleetExchangeTest, APartiallyFailedPutContinuesWhereItStopped) {
  Open({.lag = 1, .generator_batch = 7, .discriminator_batch = 7});
  ends_[0]->FinishRound(0);
  ends_[0]->FinishRound(1);
  // Rank 0 accepts round 3, which is too new for the others.
  EXPECT_THAT(fleet_->PutImages(Images(3, 0, 7), kNow),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ends_[1]->FinishRound(1);
  ends_[2]->FinishRound(1);
  ASSERT_OK(fleet_->PutImages(Images(3, 0, 7), kNow));
  ASSERT_OK_AND_ASSIGN(const auto first, ends_[0]->TakeImages(3, 0, 3, kNow));
  EXPECT_THAT(Places(first.pieces),
              ElementsAre(Pair(3, 0), Pair(3, 1), Pair(3, 2)));
  ASSERT_OK_AND_ASSIGN(const auto third, ends_[2]->TakeImages(3, 5, 2, kNow));
  EXPECT_THAT(Places(third.pieces), ElementsAre(Pair(3, 5), Pair(3, 6)));
}

TEST_F(FleetExchangeTest, FeedbackOfAllRanksIsCombined) {
  Open({.feedback = FeedbackMode::kImageGradient,
        .generator_batch = 7,
        .discriminator_batch = 7});
  ASSERT_OK(fleet_->PutImages(Images(0, 1, 6, ImageUse::kBoth), kNow));
  const auto answer = [&](int rank) {
    ASSERT_OK_AND_ASSIGN(const ImageBatch request,
                         ends_[rank]->NextFeedbackRequest(0, kNow));
    ASSERT_OK(ends_[rank]->AnswerFeedback(gandem::testing::Feedback(
        schedule_, 0, request.first_index, request.count)));
  };
  answer(2);
  answer(0);
  EXPECT_THAT(fleet_->TakeFeedback(0, 1, kNow).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(fleet_->waits_for(), 1);
  answer(1);
  ASSERT_OK_AND_ASSIGN(const FeedbackBatch whole,
                       fleet_->TakeFeedback(0, 1, kNow));
  const FeedbackBatch expected = gandem::testing::Feedback(schedule_, 0, 1, 6);
  EXPECT_EQ(whole.first_index, 1);
  EXPECT_EQ(whole.count, 6);
  EXPECT_EQ(whole.critic_version, expected.critic_version);
  EXPECT_EQ(whole.loss, 1.5);  // sum of three answers
  EXPECT_EQ(std::vector<std::byte>(whole.gradient.span().begin(),
                                   whole.gradient.span().end()),
            std::vector<std::byte>(expected.gradient.span().begin(),
                                   expected.gradient.span().end()));
  EXPECT_THAT(fleet_->TakeFeedback(0, 1, kNow).status(),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(FleetExchangeTest, CriticsComeFromOneRankAndTheOthersDoNotWait) {
  Open({.generator_batch = 7, .discriminator_batch = 7});
  for (const auto& end : ends_) {
    ASSERT_OK(end->PublishCritic(gandem::testing::Critic(0, /*size=*/3), kNow));
  }
  ASSERT_OK_AND_ASSIGN(const CriticState critic, fleet_->TakeCritic(0, kNow));
  EXPECT_EQ(critic.version, 0);
  // No generator takes the critics of ranks 1 and 2, so publishing never waits.
  for (const int rank : {1, 2}) {
    for (const int64_t version : {1, 2, 3}) {
      EXPECT_OK(
          ends_[rank]->PublishCritic(gandem::testing::Critic(version), kNow));
    }
  }
}

TEST_F(FleetExchangeTest, FinishReachesAllRanks) {
  Open({.generator_batch = 7, .discriminator_batch = 7});
  for (const auto& end : ends_) {
    EXPECT_THAT(end->WaitForGenerators(kNow),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
  }
  ASSERT_OK(fleet_->Finish(kNow));
  for (const auto& end : ends_) EXPECT_OK(end->WaitForGenerators(kNow));
}

// Equal fleets have equal slices, so each generator has one discriminator.
TEST(PartnersTest, FleetsOfEqualSizeArePairs) {
  const Schedule schedule = {.generator_batch = 128,
                             .discriminator_batch = 128};
  for (const int rank : {0, 17, 63}) {
    std::vector<bool> pair(64, false);
    pair[rank] = true;
    EXPECT_EQ(PartnersOf(schedule, rank, 64, 64), pair);
  }
}

TEST(PartnersTest, PartnersAreAllRanksThatARoundExchangesWith) {
  const auto partners = [](const Schedule& schedule, int rank) {
    return PartnersOf(schedule, rank, /*size=*/2, /*num_discriminators=*/3);
  };
  Schedule schedule = {.generator_batch = 6, .discriminator_batch = 6};
  // Images 0 to 2 and 3 to 5 go to ranks 0, 1 and 1, 2; the critics come from
  // ranks 0 and 1.
  EXPECT_THAT(partners(schedule, 0), ElementsAre(true, true, false));
  EXPECT_THAT(partners(schedule, 1), ElementsAre(false, true, true));
  schedule.feedback = FeedbackMode::kImageGradient;
  EXPECT_THAT(partners(schedule, 0), ElementsAre(true, true, false));
  // With FRESH, the images of a batch and those of the step.
  schedule.image_source = ImageSource::kFresh;
  schedule.discriminator_batch = 3;
  schedule.generator_batch = 12;
  EXPECT_THAT(partners(schedule, 0), ElementsAre(true, true, false));
  EXPECT_THAT(partners(schedule, 1), ElementsAre(false, true, true));
}

}  // namespace
}  // namespace gandem
