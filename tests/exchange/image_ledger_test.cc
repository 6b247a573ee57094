// SPDX-License-Identifier: Apache-2.0
#include "exchange/image_ledger.h"

#include <gtest/gtest.h>

#include "tests/exchange/exchange_testing.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::Images;
using gandem::testing::StatusIs;
using Verdict = ImageLedger::Verdict;

Schedule WithLag(int64_t lag) {
  return {.lag = lag, .generator_batch = 8, .discriminator_batch = 8};
}

TEST(IndexSetTest, RangesAreJoinedAndQueried) {
  IndexSet set;
  EXPECT_FALSE(set.Contains({.first = 0, .count = 1}));
  set.Add({.first = 4, .count = 2});
  set.Add({.first = 0, .count = 2});
  EXPECT_TRUE(set.Contains({.first = 4, .count = 2}));
  EXPECT_FALSE(set.Contains({.first = 1, .count = 4}));
  EXPECT_TRUE(set.Overlaps({.first = 1, .count = 4}));
  EXPECT_FALSE(set.Overlaps({.first = 2, .count = 2}));
  EXPECT_FALSE(set.Overlaps({.first = 6, .count = 9}));
  set.Add({.first = 2, .count = 2});
  EXPECT_TRUE(set.Contains({.first = 0, .count = 6}));
}

TEST(ImageLedgerTest, LagPlusOneRoundsAreAccepted) {
  ImageLedger ledger(WithLag(2), /*first_round=*/0);
  EXPECT_EQ(*ledger.Check(Images(0, 0, 8)), Verdict::kNew);
  EXPECT_EQ(*ledger.Check(Images(2, 0, 8)), Verdict::kNew);
  EXPECT_THAT(ledger.Check(Images(3, 0, 8)), StatusIs(kPrecondition));
  ledger.Advance(1);
  EXPECT_EQ(*ledger.Check(Images(3, 0, 8)), Verdict::kNew);
  EXPECT_THAT(ledger.Check(Images(4, 0, 8)), StatusIs(kPrecondition));
}

TEST(ImageLedgerTest, TheWindowNeverMovesBack) {
  ImageLedger ledger(WithLag(1), /*first_round=*/0);
  ledger.Advance(5);
  ledger.Advance(2);
  EXPECT_EQ(ledger.oldest_unfinished(), 5);
}

TEST(ImageLedgerTest, ARepeatIsStillARepeatAfterItsRound) {
  ImageLedger ledger(WithLag(0), /*first_round=*/0);
  const ImageBatch batch = Images(0, 2, 3);
  ledger.Record(batch);
  EXPECT_EQ(*ledger.Check(batch), Verdict::kRepeat);
  for (int64_t round = 1; round < 20; ++round) {
    ledger.Advance(round);
    EXPECT_EQ(*ledger.Check(batch), Verdict::kRepeat) << round;
  }
}

TEST(ImageLedgerTest, NewImagesOfACompletedRoundAreRefused) {
  ImageLedger ledger(WithLag(1), /*first_round=*/0);
  ledger.Record(Images(0, 0, 4));
  ledger.Advance(1);
  EXPECT_THAT(ledger.Check(Images(0, 4, 4)), StatusIs(kPrecondition));
}

TEST(ImageLedgerTest, AnotherCutIsRefused) {
  ImageLedger ledger(WithLag(1), /*first_round=*/0);
  ledger.Record(Images(0, 0, 4));
  EXPECT_THAT(ledger.Check(Images(0, 2, 4)), StatusIs(kInvalid));
  EXPECT_EQ(*ledger.Check(Images(0, 1, 2)), Verdict::kRepeat);
}

TEST(ImageLedgerTest, IndexSpacesAreSeparate) {
  ImageLedger ledger(WithLag(1), /*first_round=*/0);
  ledger.Record(Images(0, 0, 4, ImageUse::kTrain));
  EXPECT_EQ(*ledger.Check(Images(0, 0, 4, ImageUse::kFeedback)), Verdict::kNew);
}

TEST(ImageLedgerTest, AResumedRunHasNoOlderRounds) {
  ImageLedger ledger(WithLag(3), /*first_round=*/10);
  EXPECT_THAT(ledger.Check(Images(9, 0, 4)), StatusIs(kPrecondition));
  // Round 10 uses an older critic, from the checkpoint.
  EXPECT_EQ(*ledger.Check(Images(10, 0, 4, ImageUse::kFeedback)),
            Verdict::kNew);
  ledger.Advance(11);
  EXPECT_THAT(ledger.Check(Images(12, 0, 4, ImageUse::kFeedback)),
              StatusIs(kPrecondition));
  EXPECT_EQ(*ledger.Check(Images(13, 0, 4, ImageUse::kFeedback)),
            Verdict::kNew);
}

TEST(ImageLedgerTest, AtLagZeroFeedbackFollowsTraining) {
  ImageLedger ledger(WithLag(0), /*first_round=*/0);
  ledger.Advance(1);  // trained on round 0, but not judged
  EXPECT_EQ(*ledger.Check(Images(0, 0, 4, ImageUse::kFeedback)), Verdict::kNew);
  EXPECT_THAT(ledger.Check(Images(0, 0, 4, ImageUse::kTrain)),
              StatusIs(kPrecondition));
  ledger.Advance(2);
  EXPECT_THAT(ledger.Check(Images(0, 0, 4, ImageUse::kFeedback)),
              StatusIs(kPrecondition));
}

TEST(ImageLedgerTest, BoundedAcceptsOldRounds) {
  Schedule schedule = WithLag(1);
  schedule.consistency = Consistency::kBounded;
  ImageLedger ledger(schedule, /*first_round=*/0);
  ledger.Record(Images(1, 0, 8));
  ledger.Advance(3);
  EXPECT_EQ(*ledger.Check(Images(2, 0, 8)), Verdict::kNew);
  EXPECT_EQ(*ledger.Check(Images(1, 0, 8)), Verdict::kRepeat);
}

}  // namespace
}  // namespace gandem
