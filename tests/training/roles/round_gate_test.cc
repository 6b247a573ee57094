// SPDX-License-Identifier: Apache-2.0
#include "training/roles/round_gate.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "common/process/thread.h"

namespace gandem {
namespace {

using Answer = RoundGate::Answer;
constexpr absl::Time kNow = absl::InfinitePast();

TEST(RoundGateTest, AllRoundsOfTheRunMayStart) {
  RoundGate gate(/*first_round=*/2, /*rounds=*/4);
  EXPECT_EQ(gate.started(), 1);
  EXPECT_EQ(gate.Start(2, kNow), Answer::kStart);
  EXPECT_EQ(gate.Start(3, kNow), Answer::kStart);
  EXPECT_EQ(gate.started(), 3);
  EXPECT_EQ(gate.Start(4, kNow), Answer::kPastEnd);
  EXPECT_EQ(gate.started(), 3);
}

TEST(RoundGateTest, APausedGateStartsNoRound) {
  RoundGate gate(0, 10);
  EXPECT_EQ(gate.Start(0, kNow), Answer::kStart);
  EXPECT_EQ(gate.Pause(), 0);
  EXPECT_EQ(gate.Start(1, kNow), Answer::kHold);
  EXPECT_EQ(gate.started(), 0);
  // The other colocated role may still begin a round that has started.
  EXPECT_EQ(gate.Start(0, kNow), Answer::kStart);
}

TEST(RoundGateTest, NoRoundStartsAfterTheCut) {
  RoundGate gate(0, 10);
  EXPECT_EQ(gate.Start(0, kNow), Answer::kStart);
  gate.Pause();
  gate.SetCut(2);
  EXPECT_EQ(gate.last_round(), 2);
  EXPECT_EQ(gate.Start(1, kNow), Answer::kStart);
  EXPECT_EQ(gate.Start(2, kNow), Answer::kStart);
  EXPECT_EQ(gate.Start(3, kNow), Answer::kPastEnd);
}

TEST(RoundGateTest, TheGateReportsPossibleLastRounds) {
  RoundGate gate(0, 10);
  EXPECT_FALSE(gate.MayEndAfter(9));
  EXPECT_TRUE(gate.MayEndAfter(10));
  gate.Pause();
  EXPECT_TRUE(gate.MayEndAfter(4));  // the cut may be here
  gate.SetCut(4);
  EXPECT_FALSE(gate.MayEndAfter(4));
  EXPECT_TRUE(gate.MayEndAfter(5));
}

TEST(RoundGateTest, TheCutWakesAWaitingRole) {
  RoundGate gate(0, 10);
  EXPECT_EQ(gate.Start(0, kNow), Answer::kStart);
  gate.Pause();
  Answer answer = Answer::kHold;
  {
    Thread waiting("waiting", [&] {
      answer = gate.Start(1, absl::Now() + absl::Seconds(30));
    });
    gate.SetCut(1);
  }
  EXPECT_EQ(answer, Answer::kStart);
}

TEST(RoundGateDeathTest, ACutBeforeAStartedRoundAborts) {
  RoundGate gate(0, 10);
  gate.Start(0, kNow);
  gate.Start(1, kNow);
  EXPECT_DEATH(gate.SetCut(0), "cut >= started_");
}

}  // namespace
}  // namespace gandem
