// SPDX-License-Identifier: Apache-2.0
#include "common/trace/trace_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> NamesOf(const std::vector<TraceEvent>& events) {
  std::vector<std::string> names;
  for (const TraceEvent& event : events) names.emplace_back(event.name);
  return names;
}

TEST(TraceListenerTest, HearsWhatIsRecordedWhileItIsThere) {
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

TEST(TraceListenerTest, ASpanEndsAfterItsFence) {
  TraceListener listener;
  int fences = 0;
  const std::function<void()> fence = [&] {
    ++fences;
    RecordInstant("fence");
  };
  listener.FenceSpans(&fence);
  { const TraceSpan span("span"); }
  EXPECT_EQ(fences, 1);
  const std::vector<TraceEvent> events = listener.Take();
  EXPECT_THAT(NamesOf(events), ElementsAre("fence", "span"));
  EXPECT_GE(events[1].end_ns, events[0].begin_ns);
  listener.FenceSpans(nullptr);
  { const TraceSpan span("span"); }
  EXPECT_EQ(fences, 1);
}

TEST(TraceListenerTest, WhatDoesNotFitIsCounted) {
  TraceListener listener(/*max_events=*/2);
  for (int i = 0; i < 5; ++i) RecordInstant("instant");
  EXPECT_EQ(listener.Take().size(), 2u);
  EXPECT_EQ(listener.dropped(), 3);
}

}  // namespace
}  // namespace gandem
