// SPDX-License-Identifier: Apache-2.0
#include "common/trace/trace_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gandem {
namespace {

TraceBuffer::Batch TakeNow(TraceBuffer& buffer) {
  return buffer.Take({}, absl::InfinitePast());
}

TEST(TraceBufferTest, EventsAreReturnedInOrder) {
  TraceBuffer buffer;
  buffer.Open(10);
  for (const int64_t value : {3, 1, 2}) buffer.Add({.value = value});
  const TraceBuffer::Batch batch = TakeNow(buffer);
  ASSERT_EQ(batch.events.size(), 3);
  EXPECT_EQ(batch.events[0].value, 3);
  EXPECT_EQ(batch.events[1].value, 1);
  EXPECT_EQ(batch.events[2].value, 2);
  EXPECT_EQ(batch.dropped, 0);
  EXPECT_FALSE(batch.is_last);
  EXPECT_TRUE(TakeNow(buffer).events.empty());
}

TEST(TraceBufferTest, OverflowIsDroppedAndCounted) {
  TraceBuffer buffer;
  buffer.Open(2);
  for (int i = 0; i < 5; ++i) buffer.Add({.value = i});
  const TraceBuffer::Batch full = TakeNow(buffer);
  EXPECT_EQ(full.events.size(), 2);
  EXPECT_EQ(full.dropped, 3);
  buffer.Add({.value = 7});
  const TraceBuffer::Batch next = TakeNow(buffer);
  ASSERT_EQ(next.events.size(), 1);
  EXPECT_EQ(next.events[0].value, 7);
  EXPECT_EQ(next.dropped, 0);
}

// Otherwise a writer that wakes up occasionally would lose events that it had
// time to write.
TEST(TraceBufferTest, AHalfFullBufferWakesTheWriter) {
  TraceBuffer buffer;
  buffer.Open(4);
  buffer.Add({});
  buffer.Add({});
  EXPECT_EQ(buffer.Take({}, absl::InfiniteFuture()).events.size(), 2);
}

TEST(TraceBufferTest, CloseReturnsTheLastEvents) {
  TraceBuffer buffer;
  buffer.Open(100);
  buffer.Add({.value = 1});
  buffer.Close();
  buffer.Add({.value = 2});
  const TraceBuffer::Batch last = buffer.Take({}, absl::InfiniteFuture());
  EXPECT_TRUE(last.is_last);
  ASSERT_EQ(last.events.size(), 1);
  EXPECT_EQ(last.events[0].value, 1);
  buffer.Open(100);
  EXPECT_TRUE(TakeNow(buffer).events.empty());
}

}  // namespace
}  // namespace gandem
