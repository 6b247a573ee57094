// SPDX-License-Identifier: Apache-2.0
#include "common/control/worker_position.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::HasSubstr;

WorkerPosition At(WorkerPosition::Wait wait, Role whom = ROLE_UNKNOWN,
                  int rank = -1, double seconds = 58) {
  WorkerPosition position;
  position.set_round(2);
  position.set_wait(wait);
  position.set_whom(whom);
  position.set_rank(rank);
  position.set_seconds(seconds);
  return position;
}

TEST(WorkerPositionTest, TextNamesTheWaitAndThePeer) {
  EXPECT_EQ(PositionText(At(WorkerPosition::FEEDBACK, DISCRIMINATOR, 1)),
            "waits for feedback of discriminator 1 since 58 s");
  EXPECT_EQ(PositionText(At(WorkerPosition::IMAGES, GENERATOR)),
            "waits for images of any generator since 58 s");
  EXPECT_EQ(PositionText(At(WorkerPosition::DATA)),
            "waits for real images since 58 s");
  EXPECT_EQ(PositionText(At(WorkerPosition::NOTHING)), "computes since 58 s");
}

TEST(WorkerPositionTest, EveryWaitHasAName) {
  std::set<std::string> names;
  for (int wait = WorkerPosition::Wait_MIN; wait <= WorkerPosition::Wait_MAX;
       ++wait) {
    ASSERT_TRUE(WorkerPosition::Wait_IsValid(wait));
    const std::string text =
        ActivityText(At(static_cast<WorkerPosition::Wait>(wait)));
    EXPECT_EQ(text.find("something"), std::string::npos) << wait;
    EXPECT_TRUE(names.insert(text).second) << text;
  }
}

std::string FaultOf(const WorkerPosition& position) {
  Faults faults("heartbeat");
  CheckPosition(position, /*rounds=*/10, faults);
  return std::string(faults.ToStatus().message());
}

TEST(WorkerPositionTest, ImpossiblePositionsAreRefused) {
  EXPECT_EQ(FaultOf(WorkerPosition()), "");
  EXPECT_EQ(FaultOf(At(WorkerPosition::GRADIENTS, GENERATOR, 1)), "");
  EXPECT_EQ(FaultOf(At(WorkerPosition::FINISH, GENERATOR, -1)), "");
  WorkerPosition position = At(WorkerPosition::DATA);
  position.set_round(10);  // all are done
  EXPECT_EQ(FaultOf(position), "");
  position.set_round(11);
  EXPECT_THAT(FaultOf(position), HasSubstr("position.round 11"));
  position.set_round(-1);
  EXPECT_THAT(FaultOf(position), HasSubstr("position.round -1"));
  EXPECT_THAT(FaultOf(At(static_cast<WorkerPosition::Wait>(99))),
              HasSubstr("position.wait 99"));
  EXPECT_THAT(FaultOf(At(static_cast<WorkerPosition::Wait>(-1))),
              HasSubstr("position.wait -1"));
  EXPECT_THAT(FaultOf(At(WorkerPosition::DATA, static_cast<Role>(77))),
              HasSubstr("position.whom 77"));
  EXPECT_THAT(FaultOf(At(WorkerPosition::IMAGES, GENERATOR, -2)),
              HasSubstr("position.rank -2"));
  EXPECT_THAT(FaultOf(At(WorkerPosition::IMAGES, GENERATOR, 1 << 30)),
              HasSubstr("position.rank"));
  for (const double seconds :
       {-1.0, 1e10, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(FaultOf(At(WorkerPosition::DATA, ROLE_UNKNOWN, -1, seconds)),
                HasSubstr("position.seconds"))
        << seconds;
  }
}

}  // namespace
}  // namespace gandem
