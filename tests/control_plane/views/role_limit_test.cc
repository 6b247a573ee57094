// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/role_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RoleLimitTest, NamesTheRoleThatLimitsTheRun) {
  const RoundTimes generator = {.round = 100, .feedback = 60};
  const RoundTimes discriminator = {.round = 200, .images = 10, .sync = 10};
  EXPECT_EQ(LimitText(LoadOf(1, 10, generator), LoadOf(2, 20, discriminator)),
            "the discriminator limits the run: it works 95.0% of the time and "
            "the generator 40.0%; another discriminator worker with cores of "
            "its own would give up to 1.43 times the images/s");
  EXPECT_EQ(LimitText(LoadOf(2, 20, discriminator), LoadOf(1, 10, generator)),
            "the generator limits the run: it works 95.0% of the time and the "
            "discriminator 40.0%; another generator worker with cores of its "
            "own would give up to 1.43 times the images/s");
}

// Both halves of a round: its time falls by half of the larger one.
TEST(RoleLimitTest, ASerialRunGainsWhatTheSecondWorkerTakesOver) {
  EXPECT_THAT(LimitText(LoadOf(1, 1, {.round = 10, .feedback = 4}),
                        LoadOf(1, 1, {.round = 10, .images = 6})),
              AllOf(StartsWith("the generator limits the run"),
                    HasSubstr("a second generator worker"),
                    HasSubstr("up to 1.43 times")));
}

TEST(RoleLimitTest, NothingIsGainedBeyondTheOtherRole) {
  EXPECT_THAT(LimitText(LoadOf(1, 1, {.round = 10, .feedback = 0.1}),
                        LoadOf(1, 1, {.round = 10})),
              HasSubstr("up to 1.01 times"));
}

TEST(RoleLimitTest, OneProcessAndNoRoundsHaveNoLimit) {
  EXPECT_EQ(LimitText(LoadOf(1, 1, {.round = 10}), LoadOf(1, 1, {.round = 10})),
            "");
  EXPECT_EQ(LimitText({}, LoadOf(1, 1, {.round = 10})), "");
}

}  // namespace
}  // namespace gandem
