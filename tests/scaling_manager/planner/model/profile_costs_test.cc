// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/profile_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "common/process/thread.h"
#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::ProfileBuilder;
using ::gandem::testing::StatusIs;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(ProfileCostsTest, AreThoseOfTheirSettings) {
  const Profile profile = ProfileBuilder().Threads({1, 2}).Build();
  const ProfileCosts costs(profile);
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    for (const auto feedback :
         {ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT,
          ScheduleConfig::FUSED}) {
      for (const int threads : {1, 2}) {
        const RoleSettings settings = {
            .role = role, .threads = threads, .feedback = feedback};
        ASSERT_OK_AND_ASSIGN(const RoleCosts expected,
                             RoleCosts::Create(profile, settings));
        ASSERT_OK_AND_ASSIGN(const RoleCosts found, costs.Of(settings));
        for (const auto operation :
             {OperationTime::FORWARD, OperationTime::GENERATED,
              OperationTime::ANSWER, OperationTime::UPDATE}) {
          EXPECT_EQ(found.Of(operation, 48).alone,
                    expected.Of(operation, 48).alone);
          EXPECT_EQ(found.Of(operation, 48).beside,
                    expected.Of(operation, 48).beside);
        }
      }
    }
  }
}

TEST(ProfileCostsTest, AreFoundOnceWhoeverAsks) {
  const Profile profile = ProfileBuilder().Build();
  const ProfileCosts costs(profile);
  std::array<const absl::StatusOr<RoleCosts>*, 4> found = {};
  {
    std::vector<Thread> threads;
    for (const auto*& one : found) {
      threads.emplace_back(
          "ask", [&] { one = &costs.Of({.role = GENERATOR, .threads = 1}); });
    }
  }
  EXPECT_THAT(found, Each(&costs.Of({.role = GENERATOR, .threads = 1})));
}

TEST(ProfileCostsTest, WhatWasNotMeasuredStaysSo) {
  const Profile profile = ProfileBuilder().Build();
  const ProfileCosts costs(profile);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(costs.Of({.role = GENERATOR, .threads = 4}).status(),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("4 threads")));
  }
}

}  // namespace
}  // namespace gandem
