// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/stall_watch.h"

#include <gtest/gtest.h>

namespace gandem {
namespace {

absl::Time AfterSeconds(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

TEST(StallWatchTest, IsPatientUntilTheFirstByteAndWhileSomeCome) {
  StallWatch watch(absl::Seconds(1), AfterSeconds(0));
  EXPECT_FALSE(watch.IsStalled(0, AfterSeconds(30)));
  EXPECT_FALSE(watch.IsStalled(10, AfterSeconds(40)));
  EXPECT_FALSE(watch.IsStalled(10, AfterSeconds(40.9)));
  EXPECT_FALSE(watch.IsStalled(11, AfterSeconds(41)));
  EXPECT_FALSE(watch.IsStalled(11, AfterSeconds(41.9)));
  EXPECT_TRUE(watch.IsStalled(11, AfterSeconds(42)));
}

TEST(StallWatchTest, EachTimeItIsTwiceAsPatient) {
  StallWatch watch(absl::Seconds(1), AfterSeconds(0));
  EXPECT_FALSE(watch.IsStalled(5, AfterSeconds(0)));
  EXPECT_TRUE(watch.IsStalled(5, AfterSeconds(1)));
  // The new connection counts from 0 on.
  EXPECT_FALSE(watch.IsStalled(0, AfterSeconds(20)));
  EXPECT_FALSE(watch.IsStalled(5, AfterSeconds(21)));
  EXPECT_FALSE(watch.IsStalled(5, AfterSeconds(22.9)));
  EXPECT_TRUE(watch.IsStalled(5, AfterSeconds(23)));
}

}  // namespace
}  // namespace gandem
