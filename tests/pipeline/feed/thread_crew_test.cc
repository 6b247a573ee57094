// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/thread_crew.h"

#include <gtest/gtest.h>

#include "tests/testing/soon.h"

namespace gandem {
namespace {

// The threads only wait until they are surplus or the crew ends.
TEST(ThreadCrewTest, TheCrewHasTheRequestedNumberOfThreads) {
  absl::Mutex mu;
  int inside = 0;
  bool is_over = false;
  ThreadCrew crew("crew", [&] {
    absl::MutexLock lock(&mu);
    ++inside;
    mu.Await(absl::Condition(&is_over));
  });
  for (const int threads : {1, 5, 2, 7}) {
    crew.Want(threads);
    crew.StartMissing();
    absl::MutexLock lock(&mu);
    const auto are_there = [&] { return inside >= threads; };
    EXPECT_TRUE(mu.AwaitWithDeadline(absl::Condition(&are_there), Soon()));
  }
  absl::MutexLock lock(&mu);
  EXPECT_EQ(inside, 7);
  is_over = true;
}

TEST(ThreadCrewTest, NoThreadIsStartedAfterTheEnd) {
  int runs = 0;
  ThreadCrew crew("crew", [&runs] { ++runs; });
  crew.Want(1);
  crew.StartMissing();
  crew.Join();
  EXPECT_EQ(runs, 1);
  crew.Want(2);
  crew.StartMissing();
  crew.Join();
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace gandem
