// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/hedge_policy.h"

#include <gtest/gtest.h>

namespace gandem {
namespace {

TEST(HedgePolicyTest, NothingBeforeEnoughIsKnown) {
  HedgePolicy policy;
  for (size_t i = 1; i < kFewestForHedge; ++i) {
    policy.AddServiceTime(absl::Milliseconds(10));
  }
  EXPECT_FALSE(policy.Delay().has_value());
  policy.AddServiceTime(absl::Milliseconds(10));
  EXPECT_EQ(policy.Delay(), absl::Milliseconds(10));
}

TEST(HedgePolicyTest, TheSlowestOfAHundredIsLeftOut) {
  HedgePolicy policy;
  for (int i = 1; i <= 200; ++i) policy.AddServiceTime(absl::Milliseconds(i));
  EXPECT_EQ(policy.Delay(), absl::Milliseconds(199));
}

TEST(HedgePolicyTest, OldTimesAreForgotten) {
  HedgePolicy policy;
  for (int i = 0; i < 1000; ++i) policy.AddServiceTime(absl::Seconds(9));
  for (size_t i = 0; i < kHedgeMemory; ++i) {
    policy.AddServiceTime(absl::Milliseconds(20));
  }
  EXPECT_EQ(policy.Delay(), absl::Milliseconds(20));
}

TEST(HedgePolicyTest, AtMostFivePercentOfTheBytes) {
  HedgePolicy policy;
  EXPECT_FALSE(policy.Take(1));
  for (int i = 0; i < 40; ++i) policy.AddRequest(100);
  EXPECT_TRUE(policy.Take(100));
  EXPECT_TRUE(policy.Take(100));
  EXPECT_FALSE(policy.Take(1));
  for (int i = 0; i < 20; ++i) policy.AddRequest(100);
  EXPECT_TRUE(policy.Take(100));
}

}  // namespace
}  // namespace gandem
