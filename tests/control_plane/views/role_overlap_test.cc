// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/role_overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RoleOverlapTest, TheOverlapIsTheTimeInWhichBothRolesWork) {
  // In 10 s the generator works for 6 s and the discriminator for 8 s. Both
  // work in 4 of the 6 s.
  EXPECT_DOUBLE_EQ(
      RoleOverlap({.round = 10, .feedback = 4}, {.round = 10, .images = 2}),
      4.0 / 6);
  EXPECT_DOUBLE_EQ(RoleOverlap({.round = 10}, {.round = 10}), 1);
  // The roles work one after the other.
  EXPECT_DOUBLE_EQ(
      RoleOverlap({.round = 10, .feedback = 7}, {.round = 10, .images = 3}), 0);
}

TEST(RoleOverlapTest, WaitsForTheOwnFleetAndDataCountAsWork) {
  EXPECT_DOUBLE_EQ(
      RoleOverlap({.round = 10, .sync = 5}, {.round = 10, .data = 5}), 1);
}

// The discriminator computes 9 of 10 s and waits 0.5 s for its own sums.
TEST(RoleOverlapTest, NamesTheRoleThatLimitsTheRun) {
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

// A second worker halves the larger part of the round.
TEST(RoleOverlapTest, ASerialRunGainsTheWorkOfASecondWorker) {
  EXPECT_THAT(LimitText(LoadOf(1, 1, {.round = 10, .feedback = 4}),
                        LoadOf(1, 1, {.round = 10, .images = 6})),
              AllOf(StartsWith("the generator limits the run"),
                    HasSubstr("a second generator worker"),
                    HasSubstr("up to 1.43 times")));
}

TEST(RoleOverlapTest, NothingIsGainedBeyondTheOtherRole) {
  EXPECT_THAT(LimitText(LoadOf(1, 1, {.round = 10, .feedback = 0.1}),
                        LoadOf(1, 1, {.round = 10})),
              HasSubstr("up to 1.01 times"));
}

TEST(RoleOverlapTest, OneProcessAndNoRoundsHaveNoLimit) {
  EXPECT_EQ(LimitText(LoadOf(1, 1, {.round = 10}), LoadOf(1, 1, {.round = 10})),
            "");
  EXPECT_EQ(LimitText({}, LoadOf(1, 1, {.round = 10})), "");
}

TEST(RoleOverlapTest, ASerialRunIsReportedWithTheWaitingRole) {
  const std::string warning = SerialWarning(1, {.round = 10, .feedback = 3},
                                            {.round = 10, .images = 7});
  EXPECT_THAT(
      warning,
      AllOf(StartsWith("the run has lag 1 but is serial in fact (overlap 0%): "
                       "the discriminator waits 70% of its time, mostly for "
                       "images, the generator waits 30%"),
            HasSubstr("mostly for feedback")));
  EXPECT_THAT(
      SerialWarning(2, {.round = 10, .cache = 7}, {.round = 10, .feedback = 3}),
      HasSubstr("the generator waits 70% of its time, mostly for room "
                "in the cache, the discriminator"));
}

TEST(RoleOverlapTest, SynchronousAndUnevenRunsAreNotReported) {
  const RoundTimes generator = {.round = 10, .feedback = 3};
  const RoundTimes discriminator = {.round = 10, .images = 7};
  EXPECT_EQ(SerialWarning(0, generator, discriminator), "");
  // The generator has nothing to do.
  EXPECT_EQ(SerialWarning(1, {.round = 10, .feedback = 9.8},
                          {.round = 10, .images = 0.2}),
            "");
  EXPECT_EQ(SerialWarning(1, {.round = 10, .feedback = 3},
                          {.round = 10, .images = 6.5}),
            "");
}

}  // namespace
}  // namespace gandem
