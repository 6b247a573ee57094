// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/user_wishes.h"

#include <gtest/gtest.h>

namespace gandem {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(1);

TEST(UserWishesTest, ARepeatedCtrlCWithinASecondCountsOnce) {
  UserWishes wishes;
  const absl::Time first = MonotonicNow();
  wishes.OnSignal(SIGINT, first);
  wishes.OnSignal(SIGINT, first);
  wishes.OnSignal(SIGINT, first + UserWishes::kSameWish - kTick);
  EXPECT_TRUE(wishes.interrupted());
  EXPECT_FALSE(wishes.at_once());
  EXPECT_EQ(wishes.stop_reason(), "stopped by Ctrl-C");
}

TEST(UserWishesTest, ASecondCtrlCStopsImmediately) {
  UserWishes wishes;
  const absl::Time first = MonotonicNow();
  wishes.OnSignal(SIGINT, first);
  wishes.OnSignal(SIGINT, first + UserWishes::kSameWish);
  EXPECT_TRUE(wishes.at_once());
}

TEST(UserWishesTest, OtherSignalsOnlyRequestAStop) {
  UserWishes wishes;
  const absl::Time first = MonotonicNow();
  wishes.OnSignal(SIGTERM, first);
  wishes.OnSignal(SIGTERM, first + absl::Minutes(1));
  EXPECT_FALSE(wishes.interrupted());
  EXPECT_FALSE(wishes.at_once());
  EXPECT_EQ(wishes.stop_reason(), "stopped by signal 15");
  wishes.OnSignal(SIGINT, first + absl::Minutes(2));
  EXPECT_TRUE(wishes.interrupted());
  EXPECT_FALSE(wishes.at_once());
}

}  // namespace
}  // namespace gandem
