// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "control_plane/coordinator/evaluation_snapshots.h"

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Steps = std::vector<int64_t>;

void AddAll(EvaluationQueue& queue, const std::set<int64_t>& steps) {
  for (const int64_t step : steps) queue.Add(step);
}

TEST(EvaluationQueueTest, TheFirstCheckpointOfEachMultipleIsDue) {
  const EvaluationQueue queue(/*every=*/1000, /*rounds=*/9000);
  EXPECT_THAT(queue.Due(Steps{1600, 800, 1200, 3000, 400, 2000}),
              ElementsAre(1200, 2000, 3000));
}

TEST(EvaluationQueueTest, TheLastRoundIsAlwaysDue) {
  const EvaluationQueue queue(/*every=*/1000, /*rounds=*/1700);
  EXPECT_THAT(queue.Due(Steps{1000, 1500, 1700}), ElementsAre(1000, 1700));
  const EvaluationQueue short_run(/*every=*/1000, /*rounds=*/300);
  EXPECT_THAT(short_run.Due(Steps{100, 300}), ElementsAre(300));
}

TEST(EvaluationQueueTest, LaterCheckpointsOfAMultipleAreNotDue) {
  EvaluationQueue queue(/*every=*/1000, /*rounds=*/9000);
  AddAll(queue, queue.Due(Steps{1000}));
  EXPECT_THAT(queue.Due(Steps{1000, 1500}), IsEmpty());
  queue.Finish(1000);
  EXPECT_THAT(queue.Due(Steps{1500, 2100}), ElementsAre(2100));
}

TEST(EvaluationQueueTest, StepsThatWereEvaluatedBeforeARestartAreDueAgain) {
  EvaluationQueue queue(/*every=*/1000, /*rounds=*/9000);
  queue.Know(2500);
  queue.Know(2000);
  queue.Know(3700);
  // Only the job knows whether the card of step 2000 has these arguments.
  EXPECT_THAT(queue.Due(Steps{2000, 2500, 2900, 3000, 3700, 3900}),
              ElementsAre(2000, 3000));
}

TEST(EvaluationQueueTest, TheOldestStepComesFirst) {
  EvaluationQueue queue(/*every=*/1, /*rounds=*/30);
  EXPECT_EQ(queue.Next(), std::nullopt);
  AddAll(queue, queue.Due(Steps{30, 10, 20}));
  EXPECT_EQ(queue.Next(), 10);
  queue.Finish(10);
  EXPECT_EQ(queue.Next(), 20);
  queue.Finish(20);
  EXPECT_FALSE(queue.complete());
  queue.Finish(30);
  EXPECT_TRUE(queue.complete());
  EXPECT_EQ(queue.Next(), std::nullopt);
}

TEST(EvaluationQueueTest, AStepThatFailsRepeatedlyIsSkipped) {
  EvaluationQueue queue(/*every=*/1, /*rounds=*/30);
  AddAll(queue, queue.Due(Steps{10, 20}));
  for (int i = 1; i < EvaluationQueue::kTries; ++i) {
    EXPECT_TRUE(queue.Retry(10));
    EXPECT_EQ(queue.Next(), 10);
  }
  EXPECT_FALSE(queue.Retry(10));
  EXPECT_EQ(queue.Next(), 20);
  EXPECT_THAT(queue.Due(Steps{10, 20}), IsEmpty());
}

}  // namespace
}  // namespace gandem
