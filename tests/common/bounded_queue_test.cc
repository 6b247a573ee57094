// SPDX-License-Identifier: Apache-2.0
#include "common/bounded_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/process/thread.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;

constexpr absl::Time kTry = absl::InfinitePast();
TEST(BoundedQueueTest, ItemsLeaveInTheOrderOfArrival) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  EXPECT_OK(queue.Push(std::make_unique<int>(1), kTry));
  EXPECT_TRUE(queue.TryPush(std::make_unique<int>(2)));
  EXPECT_EQ(queue.size(), 2);
  EXPECT_EQ(**queue.Pop(kTry), 1);
  EXPECT_EQ(**queue.Pop(kTry), 2);
}

TEST(BoundedQueueTest, DeadlinesDoNotChangeTheQueue) {
  BoundedQueue<int> queue(1);
  EXPECT_THAT(queue.Pop(kTry), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_OK(queue.Push(1, kTry));
  EXPECT_THAT(queue.Push(2, kTry),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_FALSE(queue.TryPush(2));
  EXPECT_EQ(*queue.Pop(kTry), 1);
  EXPECT_THAT(queue.Pop(kTry), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(BoundedQueueTest, AClosedQueueReturnsItsRemainingItems) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_OK(queue.Push(i, kTry));
  queue.Close(absl::AbortedError("first"));
  queue.Close(absl::InternalError("second"));
  EXPECT_THAT(queue.Push(3, Soon()),
              StatusIs(absl::StatusCode::kAborted, "first"));
  EXPECT_FALSE(queue.TryPush(3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*queue.Pop(kTry), i);
  EXPECT_THAT(queue.Pop(Soon()), StatusIs(absl::StatusCode::kAborted, "first"));
  EXPECT_FALSE(queue.TryPush(3));
}

TEST(BoundedQueueTest, CloseWakesAWaitingConsumer) {
  BoundedQueue<int> queue(1);
  absl::Status seen;
  Thread consumer("consumer", [&] { seen = queue.Pop(Soon()).status(); });
  queue.Close(absl::CancelledError("stop"));
  consumer.Join();
  EXPECT_THAT(seen, StatusIs(absl::StatusCode::kCancelled, "stop"));
}

TEST(BoundedQueueTest, CloseWakesAWaitingProducer) {
  BoundedQueue<int> queue(1);
  ASSERT_OK(queue.Push(1, kTry));
  absl::Status seen;
  Thread producer("producer", [&] { seen = queue.Push(2, Soon()); });
  queue.Close(absl::CancelledError("stop"));
  producer.Join();
  EXPECT_THAT(seen, StatusIs(absl::StatusCode::kCancelled, "stop"));
}

TEST(BoundedQueueTest, NoItemIsLostOrRepeatedWithManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kItems = 500;
  BoundedQueue<int> queue(3);
  std::vector<std::vector<int>> taken(kThreads);
  {
    std::vector<Thread> producers;
    std::vector<Thread> consumers;
    for (int i = 0; i < kThreads; ++i) {
      consumers.emplace_back("consumer", [&queue, &mine = taken[i]] {
        for (auto item = queue.Pop(Soon()); item.ok();
             item = queue.Pop(Soon())) {
          mine.push_back(*item);
        }
      });
      producers.emplace_back("producer", [&queue, i] {
        for (int item = 0; item < kItems; ++item) {
          ASSERT_OK(queue.Push(i * kItems + item, Soon()));
        }
      });
    }
    producers.clear();
    queue.Close(absl::OutOfRangeError("end"));
  }
  std::vector<int> all;
  for (const std::vector<int>& part : taken) {
    all.insert(all.end(), part.begin(), part.end());
  }
  std::vector<int> expected(kThreads * kItems);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = static_cast<int>(i);
  EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(expected));
}

TEST(BoundedQueueDeathTest, RequiresCapacityAndACloseReason) {
  EXPECT_DEATH(BoundedQueue<int>(0), "max_items");
  BoundedQueue<int> queue(1);
  EXPECT_DEATH(queue.Close(absl::OkStatus()), "reason");
}

}  // namespace
}  // namespace gandem
