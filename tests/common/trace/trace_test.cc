// SPDX-License-Identifier: Apache-2.0
//
// Recorded spans and the files that are written from them.
#include "common/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/process/thread.h"
#include "common/trace/trace_writer.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void LetTimePass() {
  const absl::Time end = MonotonicNow() + absl::Microseconds(50);
  while (MonotonicNow() < end) {
  }
}

class TraceTest : public ::testing::Test {
 protected:
  std::unique_ptr<TraceWriter> Start(TraceWriter::Options options = {}) {
    options.folder = dir_ / "trace";
    options.name = "generator-1";
    options.process = 1001;
    auto writer = TraceWriter::Start(options);
    EXPECT_OK(writer);
    return *std::move(writer);
  }
  std::string Text(const std::string& name = "generator-1.json") {
    return ReadFile(dir_ / ("trace/" + name)).value_or("");
  }
  // Returns the events of the file that a writer has closed.
  std::vector<Json> Events(const std::string& kind) {
    std::vector<Json> events;
    for (const Json& event : Json::parse(Text())) {
      if (event.at("ph") == kind) events.push_back(event);
    }
    return events;
  }

  gandem::testing::TempDir dir_;
};

TEST_F(TraceTest, ANestedSpanLiesWithinTheOuterOne) {
  const absl::Time before = MonotonicNow();
  {
    const auto writer = Start();
    {
      const TraceSpan outer("round", {"round", 7});
      LetTimePass();
      {
        const TraceSpan inner("forward");
        LetTimePass();
      }
      const TraceSpan next("backward");
      LetTimePass();
    }
  }
  std::map<std::string, Json> spans;
  for (const Json& span : Events("X")) spans[span.at("name")] = span;
  ASSERT_EQ(spans.size(), 3);
  const auto begin = [&](const char* name) -> int64_t {
    return spans[name].at("ts");
  };
  const auto end = [&](const char* name) -> int64_t {
    return begin(name) + spans[name].at("dur").get<int64_t>();
  };
  EXPECT_GE(begin("round"), absl::ToUnixMicros(before));
  EXPECT_LE(begin("round"), begin("forward") - 50);
  EXPECT_LE(begin("forward") + 50, end("forward"));
  EXPECT_LE(end("forward"), begin("backward"));
  EXPECT_LE(end("backward"), end("round"));
  EXPECT_LE(end("round"), absl::ToUnixMicros(MonotonicNow()));
  EXPECT_EQ(spans["round"].at("args"), Json({{"round", 7}}));
  EXPECT_FALSE(spans["forward"].contains("args"));
  for (const auto& [name, span] : spans) {
    EXPECT_EQ(span.at("pid"), 1001);
    EXPECT_EQ(span.at("tid"), gettid());
  }
}

TEST_F(TraceTest, ThreadsAndTheProcessHaveNames) {
  {
    // The writer writes after the thread has ended.
    const auto writer = Start({.interval = absl::Minutes(1)});
    RecordInstant("run epoch", {"epoch", 3});
    Thread worker("collective", [] {
      RecordSpan("all-reduce", MonotonicNow(), MonotonicNow(), {"bytes", 64});
    });
    worker.Join();
    RecordSpan("round", MonotonicNow(), MonotonicNow(), {},
               TraceTrack::kDiscriminatorRounds);
  }
  std::map<int64_t, std::string> threads;
  std::string process;
  for (const Json& event : Events("M")) {
    const std::string name = event.at("args").at("name");
    if (event.at("name") == "process_name") process = name;
    if (event.at("name") == "thread_name") threads[event.at("tid")] = name;
  }
  EXPECT_EQ(process, "generator-1");
  std::map<std::string, std::string> thread_of;
  for (const char* const kind : {"X", "i"}) {
    for (const Json& event : Events(kind)) {
      thread_of[event.at("name")] = threads[event.at("tid")];
    }
  }
  EXPECT_EQ(thread_of["run epoch"], "compute");
  EXPECT_EQ(thread_of["all-reduce"], "collective");
  EXPECT_EQ(thread_of["round"], "discriminator rounds");
}

TEST_F(TraceTest, CountersHaveAValue) {
  {
    const auto writer = Start();
    RecordCounter("images in the cache", 12);
  }
  const std::vector<Json> counters = Events("C");
  ASSERT_EQ(counters.size(), 1);
  EXPECT_EQ(counters[0].at("args"), Json({{"images in the cache", 12}}));
}

TEST_F(TraceTest, NothingIsRecordedWithoutAWriter) {
  EXPECT_FALSE(IsTracing());
  { const TraceSpan span("before"); }
  {
    const auto writer = Start();
    EXPECT_TRUE(IsTracing());
  }
  EXPECT_FALSE(IsTracing());
  { const TraceSpan span("after"); }
  EXPECT_THAT(Events("X"), IsEmpty());
}

// A crash loses at most the last bracket.
TEST_F(TraceTest, EveryPrefixOfWholeLinesLacksOnlyABracket) {
  {
    const auto writer = Start();
    for (int i = 0; i < 5; ++i) {
      const TraceSpan span("forward");
    }
  }
  const std::vector<std::string> lines = absl::StrSplit(Text(), '\n');
  ASSERT_GE(lines.size(), 8);
  std::string prefix;
  for (size_t i = 0; i + 2 < lines.size(); ++i) {
    absl::StrAppend(&prefix, lines[i], "\n");
    EXPECT_EQ(Json::parse(prefix + "]").size(), i + 1);
  }
}

TEST_F(TraceTest, DroppedEventsAreCounted) {
  {
    // The writer takes nothing before the end unless the buffer is half full.
    const auto writer = Start({.max_buffered = 1, .interval = absl::Hours(1)});
    for (int i = 0; i < 1000; ++i) RecordInstant("event");
  }
  int64_t recorded = 0;
  int64_t dropped = 0;
  for (const Json& event : Events("i")) {
    if (event.at("name") == "event") ++recorded;
    if (event.at("name") == "events are missing") {
      dropped += event.at("args").at("dropped").get<int64_t>();
    }
  }
  EXPECT_EQ(recorded + dropped, 1000);
  EXPECT_GT(recorded, 0);
}

TEST_F(TraceTest, AFullFileEndsTheTrace) {
  constexpr int64_t kMaxBytes = 4096;
  {
    const auto writer =
        Start({.max_bytes = kMaxBytes, .interval = absl::Milliseconds(1)});
    while (IsTracing()) RecordInstant("event");
  }
  EXPECT_LE(Text().size(), kMaxBytes);
  EXPECT_GE(Text().size(), kMaxBytes / 2);
  EXPECT_FALSE(Events("i").empty());
}

TEST_F(TraceTest, EveryStartWritesItsOwnFile) {
  for (int i = 0; i < 3; ++i) Start();
  EXPECT_THAT(*ListDirectory(dir_ / "trace"),
              ElementsAre("generator-1.1.json", "generator-1.2.json",
                          "generator-1.json"));
}

TEST_F(TraceTest, TheOldestFilesAreRemoved) {
  for (int i = 0; i < kKeptTraces + 2; ++i) Start();
  EXPECT_THAT(*ListDirectory(dir_ / "trace"), SizeIs(kKeptTraces));
}

TEST_F(TraceTest, AFolderThatCannotBeCreatedIsReported) {
  ASSERT_OK(WriteFile(dir_ / "file", ""));
  EXPECT_FALSE(
      TraceWriter::Start({.folder = dir_ / "file/trace", .name = "x"}).ok());
  EXPECT_FALSE(IsTracing());
}

TEST(TraceNameTest, EqualTextsShareANameThatNeedsNoEscaping) {
  const std::string text = "2 \"workers\"\\\n";
  const char* const name = TraceName(text);
  EXPECT_STREQ(name, "2 workers");
  EXPECT_EQ(TraceName("2 workers"), name);
  for (int i = 0; i < 5000; ++i) TraceName(absl::StrCat("name ", i));
  EXPECT_STREQ(TraceName("one more"), "other");
  EXPECT_EQ(TraceName(text), name);
}

}  // namespace
}  // namespace gandem
