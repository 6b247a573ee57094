// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/pipeline_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/file.h"
#include "pipeline/control/link_of_fetches.h"
#include "pipeline/control/trace_writer.h"
#include "tests/pipeline/control/pipelines.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::GoodLink;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TraceOf;
using ::gandem::testing::WithRate;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kHead[] =
    "gandem_pipeline_trace 1\n"
    "job batch=4 sample_bytes=100 stored_bytes=50 work_seconds=0.001 cores=2 "
    "trainer_cores=1\n";

absl::Status FaultOf(const std::string& rest) {
  return ParsePipelineTrace(kHead + rest).status();
}

TEST(PipelineTraceTest, IsReadAsItWasWritten) {
  PipelineTrace trace = TraceOf({GoodLink(), WithRate(GoodLink(30), 0)}, 60);
  trace.link[1].slow_share = 0.01;
  trace.link[1].slow_seconds = 0.5;
  trace.link[1].connection_bytes_per_second = 1e6;
  const auto read = ParsePipelineTrace(PipelineTraceText(trace));
  ASSERT_OK(read.status());
  EXPECT_EQ(*read, trace);
}

TEST(PipelineTraceTest, NumbersAreWrittenToTheirLastDigit) {
  PipelineTrace trace = TraceOf({GoodLink()}, 60);
  trace.demand = {{.at = 1.0 / 3, .batch_seconds = 0.1 + 0.2}};
  trace.seconds = 999.0 + 1.0 / 7;
  const auto read = ParsePipelineTrace(PipelineTraceText(trace));
  ASSERT_OK(read.status());
  EXPECT_EQ(*read, trace);
}

TEST(PipelineTraceTest, RemarksAndEmptyLinesCountNothing) {
  const auto read = ParsePipelineTrace(absl::StrCat(
      kHead, "\n# a remark\ndemand 0 0.1\n  link at=0 latency=0.1 ",
      "bytes_per_second=5 \r\nend 2\n\n"));
  ASSERT_OK(read.status());
  EXPECT_EQ(read->seconds, 2);
  EXPECT_EQ(read->job.batch, 4);
}

TEST(PipelineTraceTest, FaultsNameTheLine) {
  EXPECT_THAT(ParsePipelineTrace("").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("gandem_pipeline_trace 1")));
  EXPECT_THAT(ParsePipelineTrace("gandem_pipeline_trace 2\n").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("another version")));
  const std::pair<std::string, std::string> cases[] = {
      {"fetch 1 2\n", "line 3: expected one of"},
      {"hello\n", "line 3: expected one of"},
      {"fetch 1 -2 3\n", "line 3: expected fetch"},
      {"fetch 1 nan 3\n", "line 3: expected fetch"},
      {"fetch 1 inf 3\n", "line 3: expected fetch"},
      {"demand 0 0.00001\n", "line 3: expected demand"},
      {"demand 5 1\ndemand 4 1\n", "line 4: its time is before"},
      {"link at=0 latency=0.1\n", "line 3: link: bytes_per_second= is missing"},
      {"link at=0 latency=x bytes_per_second=1\n", "line 3: latency: expected"},
      {"link at=0 speed=1\n", "line 3: 'speed=1' is none of"},
      {"link at=5 latency=0 bytes_per_second=1\nlink at=4 latency=0 "
       "bytes_per_second=1\n",
       "line 4: its time is before"},
      {"end 0\n", "line 3: expected end"},
      {"end 5\ndemand 0 1\n", "line 4: there is more after"},
      {"demand 0 1\nend 5\n", "either lines `link` or lines `fetch`"},
      {"fetch 0 1 1\nend 5\n", "no line `demand`"},
      {"demand 0 1\nlink at=1 latency=0 bytes_per_second=1\nend 5\n",
       "not at=0"},
      {"demand 0 1\nlink at=0 latency=0 bytes_per_second=1\n", "no line `end`"},
      {"demand 0 0.0001\nlink at=0 latency=0 bytes_per_second=1\nend 9999\n",
       "cut the trace"},
  };
  for (const auto& [rest, fault] : cases) {
    EXPECT_THAT(FaultOf(rest),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(fault)))
        << rest;
  }
  EXPECT_THAT(
      ParsePipelineTrace("gandem_pipeline_trace 1\njob batch=1.5\n").status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("line 2: batch: expected a whole number")));
}

TEST(PipelineTraceTest, ARecordingMayBeCutOff) {
  const auto read = ParsePipelineTrace(
      absl::StrCat(kHead, "demand 0 0.1\nfetch 0 0.5 10\nfetch 1 0.5 10\n"));
  ASSERT_OK(read.status());
  EXPECT_EQ(read->seconds, 1.5);
  EXPECT_EQ(read->fetches.size(), 2);
}

TEST(PipelineTraceTest, ACutOffRecordingIsNoLongerThanAnother) {
  const auto read = ParsePipelineTrace(
      absl::StrCat(kHead, "demand 0 1\nfetch 99999 20 10\n"));
  ASSERT_OK(read.status());
  EXPECT_EQ(read->seconds, kMaxTraceSeconds);
  EXPECT_OK(ParsePipelineTrace(PipelineTraceText(*read)).status());
}

TEST(PipelineTraceTest, AFileOfItIsNamed) {
  const gandem::testing::TempDir dir;
  ASSERT_OK(WriteFile(dir / "a.trace", "no trace"));
  EXPECT_THAT(ReadPipelineTrace(dir / "a.trace").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a.trace: the first line")));
  EXPECT_THAT(ReadPipelineTrace(dir / "none").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST(PipelineTraceWriterTest, WritesWhatIsRead) {
  const gandem::testing::TempDir dir;
  const PipelineJob job = TraceOf({}, 1).job;
  auto writer = PipelineTraceWriter::Create(dir / "a.trace", job);
  ASSERT_OK(writer.status());
  writer->Add(DemandPart{.at = 0.5, .batch_seconds = 0.25});
  for (int i = 0; i < 5000; ++i) {
    writer->Add(FetchRecord{.at = i * 0.01, .seconds = 0.125, .bytes = i});
  }
  ASSERT_OK(writer->Close(60));
  const auto read = ReadPipelineTrace(dir / "a.trace");
  ASSERT_OK(read.status());
  EXPECT_EQ(read->job, job);
  ASSERT_EQ(read->fetches.size(), 5000);
  EXPECT_EQ(read->fetches[4999],
            (FetchRecord{.at = 49.99, .seconds = 0.125, .bytes = 4999}));
  EXPECT_EQ(read->seconds, 60);
}

TEST(PipelineTraceWriterTest, ALongRunCanBeRead) {
  const gandem::testing::TempDir dir;
  auto writer =
      PipelineTraceWriter::Create(dir / "a.trace", TraceOf({}, 1).job);
  ASSERT_OK(writer.status());
  for (const double at : {0.0, kMaxTraceSeconds - 1, kMaxTraceSeconds + 1}) {
    writer->Add(DemandPart{.at = at, .batch_seconds = 1});
    writer->Add(FetchRecord{.at = at, .seconds = 0.5, .bytes = 1});
  }
  ASSERT_OK(writer->Close(kMaxTraceSeconds + 2));
  const auto read = ReadPipelineTrace(dir / "a.trace");
  ASSERT_OK(read.status());
  EXPECT_EQ(read->demand.size(), 2);
  EXPECT_EQ(read->fetches.size(), 2);
  EXPECT_EQ(read->seconds, kMaxTraceSeconds);
}

// 40 fetches a second of 0.05 s and 10 kB.
std::vector<FetchRecord> Fetches(double from, double to) {
  std::vector<FetchRecord> fetches;
  for (double at = from; at < to; at += 0.025) {
    fetches.push_back({.at = at, .seconds = 0.05, .bytes = 10000});
  }
  return fetches;
}

TEST(LinkOfFetchesTest, ACalmLinkIsOnePart) {
  const std::vector<LinkPart> link = LinkOfFetches(Fetches(0, 20), 20);
  ASSERT_EQ(link.size(), 1);
  EXPECT_NEAR(link[0].latency, 0.05, 0.005);
  EXPECT_NEAR(link[0].bytes_per_second, 400000, 20000);
}

TEST(LinkOfFetchesTest, NothingForLongIsAnOutage) {
  std::vector<FetchRecord> fetches = Fetches(0, 10);
  for (int i = 0; i < 4; ++i) {  // they wait from 10 on
    fetches.push_back({.at = 10, .seconds = 3.05, .bytes = 10000});
  }
  for (const FetchRecord& fetch : Fetches(13, 20)) fetches.push_back(fetch);
  const std::vector<LinkPart> link = LinkOfFetches(fetches, 20);
  double silent = 0;
  for (size_t i = 0; i + 1 < link.size(); ++i) {
    if (link[i].bytes_per_second == 0) silent += link[i + 1].at - link[i].at;
  }
  EXPECT_NEAR(silent, 2.75, 0.3);
}

TEST(LinkOfFetchesTest, CrowdedFetchesShowTheRate) {
  std::vector<FetchRecord> fetches = Fetches(0, 30);
  for (double at = 30; at < 40; at += 0.1) {  // a quarter, 8 at once
    fetches.push_back({.at = at, .seconds = 0.8, .bytes = 10000});
  }
  const std::vector<LinkPart> link = LinkOfFetches(fetches, 41);
  double at_35 = 0;
  for (const LinkPart& part : link) {
    if (part.at <= 35) at_35 = part.bytes_per_second;
  }
  EXPECT_NEAR(at_35, 100000, 25000);
}

TEST(LinkOfFetchesTest, NobodyWhoAsksIsNoOutage) {
  std::vector<FetchRecord> fetches = Fetches(0, 10);
  for (const FetchRecord& fetch : Fetches(15, 20)) fetches.push_back(fetch);
  for (const LinkPart& part : LinkOfFetches(fetches, 20)) {
    EXPECT_GT(part.bytes_per_second, 0);
  }
}

}  // namespace
}  // namespace gandem
