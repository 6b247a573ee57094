// SPDX-License-Identifier: Apache-2.0
//
// The small policies of both ends: feedback book, critic slot and queue,
// outbox.
#include <gtest/gtest.h>

#include <vector>

#include "exchange/critic_queue.h"
#include "exchange/critic_slot.h"
#include "exchange/feedback_book.h"
#include "exchange/outbox.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Critic;
using gandem::testing::Feedback;
using gandem::testing::Images;
using gandem::testing::StatusIs;
constexpr Schedule kSchedule{.generator_batch = 8, .discriminator_batch = 8};

TEST(FeedbackBookTest, AnswersGoToTheRequestingRank) {
  FeedbackBook book(2);
  book.AddRequest(1, Images(0, 4, 4, ImageUse::kBoth));
  book.AddRequest(0, Images(0, 0, 4, ImageUse::kBoth));
  EXPECT_EQ(book.NextRequest(0)->first_index, 4);
  EXPECT_EQ(book.NextRequest(0)->first_index, 0);
  EXPECT_FALSE(book.NextRequest(0).has_value());
  ASSERT_OK(book.Answer(Feedback(kSchedule, 0, 0, 4)));
  EXPECT_FALSE(book.NextAnswer(1, 0).has_value());
  EXPECT_EQ(book.NextAnswer(0, 0)->answer.first_index, 0);
}

TEST(FeedbackBookTest, LaterRoundsStayUntilTheyAreDue) {
  FeedbackBook book(1);
  book.AddRequest(0, Images(2, 0, 4, ImageUse::kBoth));
  book.AddRequest(0, Images(1, 0, 4, ImageUse::kBoth));
  EXPECT_FALSE(book.HasRequest(0));
  EXPECT_FALSE(book.NextRequest(0).has_value());
  EXPECT_TRUE(book.HasRequest(1));
  EXPECT_EQ(book.NextRequest(1)->round, 1);
  EXPECT_EQ(book.NextRequest(5)->round, 2);
}

TEST(FeedbackBookTest, AnswersMustMatchTheirRequest) {
  FeedbackBook book(1);
  book.AddRequest(0, Images(0, 0, 4, ImageUse::kBoth));
  // NextRequest has not returned this request yet.
  EXPECT_THAT(book.Answer(Feedback(kSchedule, 0, 0, 4)),
              StatusIs(kPrecondition));
  ASSERT_TRUE(book.NextRequest(0).has_value());
  EXPECT_THAT(book.Answer(Feedback(kSchedule, 0, 0, 3)),
              StatusIs(kPrecondition));
  EXPECT_OK(book.Answer(Feedback(kSchedule, 0, 0, 4)));
  EXPECT_THAT(book.Answer(Feedback(kSchedule, 0, 0, 4)),
              StatusIs(kPrecondition));
}

TEST(FeedbackBookTest, AnswersAreKeptUntilAcknowledged) {
  FeedbackBook book(1);
  for (int64_t first : {0, 4}) {
    book.AddRequest(0, Images(0, first, 4, ImageUse::kBoth));
    ASSERT_TRUE(book.NextRequest(0).has_value());
    ASSERT_OK(book.Answer(Feedback(kSchedule, 0, first, 4)));
  }
  const auto first = book.NextAnswer(0, 0);
  ASSERT_TRUE(first.has_value());
  const auto second = book.NextAnswer(0, first->number);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->answer.first_index, 4);
  EXPECT_FALSE(book.NextAnswer(0, second->number).has_value());
  // A new connection starts with the unacknowledged answers.
  book.Acknowledge(0, 0, 0);
  book.Acknowledge(0, 0, 0);
  EXPECT_EQ(book.NextAnswer(0, 0)->answer.first_index, 4);
  book.Acknowledge(0, 0, 4);
  EXPECT_FALSE(book.NextAnswer(0, 0).has_value());
}

TEST(CriticSlotTest, ExactWaitsForTheSlowestRank) {
  CriticSlot slot(Consistency::kExact, 2);
  ASSERT_TRUE(slot.MayPublish());
  ASSERT_OK(slot.Publish(Critic(0)));
  slot.Acknowledge(0, 0);
  EXPECT_FALSE(slot.MayPublish());
  EXPECT_FALSE(slot.Next(0, -1).has_value());
  EXPECT_EQ(slot.Next(1, -1)->version, 0);
  slot.Acknowledge(1, 0);
  EXPECT_TRUE(slot.MayPublish());
}

TEST(CriticSlotTest, BoundedReplacesACriticThatWasNotSent) {
  CriticSlot slot(Consistency::kBounded, 1);
  ASSERT_OK(slot.Publish(Critic(0)));
  EXPECT_TRUE(slot.MayPublish());
  ASSERT_OK(slot.Publish(Critic(3)));
  EXPECT_EQ(slot.Next(0, -1)->version, 3);
  EXPECT_FALSE(slot.Next(0, 3).has_value());
}

TEST(CriticSlotTest, AFinishedRankDelaysNothing) {
  CriticSlot slot(Consistency::kExact, 2);
  slot.Release(0);
  ASSERT_OK(slot.Publish(Critic(0)));
  EXPECT_FALSE(slot.Next(0, -1).has_value());
  slot.Acknowledge(1, 0);
  EXPECT_TRUE(slot.MayPublish());
}

TEST(CriticSlotTest, ANewProcessReceivesTheCriticAgain) {
  CriticSlot slot(Consistency::kExact, 1);
  ASSERT_OK(slot.Publish(Critic(4)));
  slot.Acknowledge(0, 4);
  ASSERT_OK(slot.Open(0, -1));
  EXPECT_EQ(slot.Next(0, -1)->version, 4);
  ASSERT_OK(slot.Open(0, 4));
  EXPECT_FALSE(slot.Next(0, -1).has_value());
  EXPECT_THAT(slot.Open(0, 5), StatusIs(kInvalid));
}

TEST(CriticQueueTest, HoldsLagCriticsBesidesTheOneInUse) {
  CriticQueue queue({.lag = 2});
  EXPECT_TRUE(queue.Offer(Critic(0)));
  EXPECT_EQ((*queue.Take(0))->version, 0);
  EXPECT_TRUE(queue.Offer(Critic(1)));
  EXPECT_TRUE(queue.Offer(Critic(2)));
  EXPECT_FALSE(queue.Offer(Critic(3)));
  EXPECT_EQ(queue.newest_version(), 2);
  EXPECT_TRUE(queue.Offer(Critic(2)));      // a repeat
  EXPECT_EQ((*queue.Take(0))->version, 0);  // still in use
  EXPECT_EQ((*queue.Take(1))->version, 1);
  EXPECT_TRUE(queue.Offer(Critic(3)));
}

TEST(CriticQueueTest, AnAwaitedCriticReplacesOlderOnes) {
  CriticQueue queue({.lag = 0});
  EXPECT_TRUE(queue.Offer(Critic(0)));
  EXPECT_FALSE(queue.Offer(Critic(2)));
  EXPECT_FALSE((*queue.Take(2)).has_value());
  EXPECT_TRUE(queue.Offer(Critic(1)));  // not needed, takes no space
  EXPECT_TRUE(queue.Offer(Critic(2)));
  EXPECT_EQ((*queue.Take(2))->version, 2);
}

TEST(CriticQueueTest, MissingVersionsAreAnError) {
  CriticQueue queue({.lag = 2});
  EXPECT_TRUE(queue.Offer(Critic(2)));
  EXPECT_THAT(queue.Take(1), StatusIs(kPrecondition));
  EXPECT_EQ((*queue.Take(2))->version, 2);
  EXPECT_THAT(queue.Take(1), StatusIs(kPrecondition));
}

TEST(CriticQueueTest, BoundedTakesTheNewestCritic) {
  CriticQueue queue({.lag = 2, .consistency = Consistency::kBounded});
  for (int64_t version : {0, 1, 2, 3}) {
    EXPECT_TRUE(queue.Offer(Critic(version)));
  }
  EXPECT_FALSE((*queue.Take(4)).has_value());
  EXPECT_EQ((*queue.Take(1))->version, 3);
  EXPECT_EQ((*queue.Take(0))->version, 3);
}

TEST(CriticQueueTest, ADrainedQueueAcceptsAnyCritic) {
  CriticQueue queue({.lag = 0});
  queue.Drain();
  for (int64_t version : {0, 1, 2}) EXPECT_TRUE(queue.Offer(Critic(version)));
}

TEST(OutboxTest, TheOutboxHoldsOneRound) {
  Outbox outbox(kSchedule);
  EXPECT_TRUE(outbox.HasRoom(Images(0, 0, 8)));
  outbox.Add(Images(0, 0, 4));
  EXPECT_TRUE(outbox.HasRoom(Images(0, 4, 4)));
  EXPECT_FALSE(outbox.HasRoom(Images(0, 4, 5)));
}

TEST(OutboxTest, ANewConnectionSendsEverythingAgain) {
  Outbox outbox(kSchedule);
  outbox.Add(Images(0, 0, 2));
  outbox.Add(Images(0, 2, 2));
  EXPECT_EQ(outbox.Next()->first_index, 0);
  EXPECT_EQ(outbox.Next()->first_index, 2);
  EXPECT_FALSE(outbox.Next().has_value());
  ASSERT_OK(outbox.Acknowledge(ImageUse::kTrain, 0, 0));
  outbox.Rewind();
  EXPECT_EQ(outbox.Next()->first_index, 2);
  EXPECT_FALSE(outbox.empty());
  ASSERT_OK(outbox.Acknowledge(ImageUse::kTrain, 0, 2));
  EXPECT_TRUE(outbox.empty());
}

TEST(OutboxTest, InvalidAcknowledgementsAreRefused) {
  Outbox outbox(kSchedule);
  outbox.Add(Images(0, 0, 2));
  // The batch was not sent yet.
  EXPECT_THAT(outbox.Acknowledge(ImageUse::kTrain, 0, 0), StatusIs(kInvalid));
  ASSERT_TRUE(outbox.Next().has_value());
  EXPECT_THAT(outbox.Acknowledge(ImageUse::kTrain, 0, 1), StatusIs(kInvalid));
  EXPECT_THAT(outbox.Acknowledge(ImageUse::kTrain, 1, 0), StatusIs(kInvalid));
  EXPECT_THAT(outbox.Acknowledge(ImageUse::kBoth, 0, 0), StatusIs(kInvalid));
  EXPECT_OK(outbox.Acknowledge(ImageUse::kTrain, 0, 0));
}

}  // namespace
}  // namespace gandem
