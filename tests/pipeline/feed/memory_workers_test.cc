// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/memory_workers.h"

#include <gtest/gtest.h>

namespace gandem {
namespace {

PipelineSeen Seen(double stalled, double work) {
  return {.seconds = 2, .stalled_seconds = stalled, .work_seconds = work};
}

TEST(MemoryWorkersTest, MoreWhenTheTrainerWaitsForBusyOnes) {
  EXPECT_EQ(WorkersInMemory(Seen(/*stalled=*/1, /*work=*/1.9), 1, 4), 2);
  EXPECT_EQ(WorkersInMemory(Seen(1, 7.6), 4, 4), 4);
  EXPECT_EQ(WorkersInMemory(Seen(0, 1.9), 1, 4), 1);
  // They do not get the cores that they want.
  EXPECT_EQ(WorkersInMemory(Seen(1, 1), 1, 4), 1);
}

TEST(MemoryWorkersTest, FewerWhenTheyHaveLittleToDo) {
  EXPECT_EQ(WorkersInMemory(Seen(0, 1.9), 3, 4), 2);
  EXPECT_EQ(WorkersInMemory(Seen(0, 2.1), 3, 4), 3);
  EXPECT_EQ(WorkersInMemory(Seen(0, 0), 1, 4), 1);
}

}  // namespace
}  // namespace gandem
