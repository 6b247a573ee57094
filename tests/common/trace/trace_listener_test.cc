// SPDX-License-Identifier: Apache-2.0
#include "common/trace/trace_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/monotonic_time.h"

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> NamesOf(const std::vector<TraceEvent>& events) {
  std::vector<std::string> names;
  for (const TraceEvent& event : events) names.emplace_back(event.name);
  return names;
}

TEST(TraceListenerTest, ReceivesTheEventsRecordedDuringItsLife) {
  { const TraceSpan span("before"); }
  {
    TraceListener listener;
    EXPECT_TRUE(IsTracing());
    EXPECT_THAT(NamesOf(listener.Take()), IsEmpty());
    {
      const TraceSpan outer("outer");
      const TraceSpan inner("inner");
    }
    EXPECT_THAT(NamesOf(listener.Take()), ElementsAre("inner", "outer"));
    EXPECT_THAT(NamesOf(listener.Take()), IsEmpty());
    EXPECT_EQ(listener.dropped(), 0);
  }
  EXPECT_FALSE(IsTracing());
}

TEST(TraceListenerTest, ASpanEndsAfterTheFenceOfItsThread) {
  TraceListener listener;
  absl::Time fenced;
  const std::function<void()> fence = [&] {
    RecordInstant("fence");
    fenced = MonotonicNow();
  };
  {
    const SpanFence fences(&fence);
    { const TraceSpan span("span"); }
    std::thread([] { const TraceSpan span("other thread"); }).join();
  }
  { const TraceSpan span("after"); }
  const std::vector<TraceEvent> events = listener.Take();
  ASSERT_THAT(NamesOf(events),
              ElementsAre("fence", "span", "other thread", "after"));
  EXPECT_GE(events[1].end_ns, absl::ToUnixNanos(fenced));
}

TEST(TraceListenerTest, OverflowIsCounted) {
  TraceListener listener(/*max_events=*/2);
  for (int i = 0; i < 5; ++i) RecordInstant("instant");
  EXPECT_EQ(listener.Take().size(), 2u);
  EXPECT_EQ(listener.dropped(), 3);
}

}  // namespace
}  // namespace gandem
