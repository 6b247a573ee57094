// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/simulator.h"

#include <gtest/gtest.h>

#include "pipeline/control/baselines.h"
#include "pipeline/control/offline_optimum.h"
#include "tests/pipeline/control/pipelines.h"

namespace gandem {
namespace {

using ::gandem::testing::GoodLink;
using ::gandem::testing::kMemory;
using ::gandem::testing::TraceOf;
using ::gandem::testing::WithLatency;
using ::gandem::testing::WithRate;

PipelineSetting Setting(int fetches, int workers, int64_t ahead) {
  return {.fetches = fetches,
          .workers = workers,
          .ahead = ahead,
          .finished_ahead = ahead};
}

// A link that is so fast that only latency counts.
PipelineTrace LatencyOnly() {
  LinkPart link = WithLatency(WithRate(GoodLink(), 1e12), 0.1);
  link.spread = 0;
  return TraceOf({link}, 60);
}

TEST(SimulatorTest, RateIsFetchesOverLatency) {
  // 16 fetches of 0.1 s: 160 a second of the 640 that are wanted.
  const SimulatedRun run = SimulateStatic(LatencyOnly(), Setting(16, 2, 1024));
  EXPECT_NEAR(run.samples, 160 * 60, 128);
  EXPECT_NEAR(run.LostShare(), 0.75, 0.01);
  EXPECT_EQ(run.changes, 0);
  EXPECT_NEAR(run.fetches, 16, 1e-6);
}

TEST(SimulatorTest, RateIsThatOfTheLink) {
  // 320 samples a second.
  const PipelineTrace trace = TraceOf({WithRate(GoodLink(), 3.2e6)}, 60);
  const SimulatedRun run = SimulateStatic(trace, Setting(64, 2, 1024));
  EXPECT_NEAR(static_cast<double>(run.samples), 320 * 60, 320);
  // A connection's own limit: 8 of 100 kB/s.
  PipelineTrace limited = trace;
  limited.link[0].connection_bytes_per_second = 1e5;
  EXPECT_NEAR(
      static_cast<double>(SimulateStatic(limited, Setting(8, 2, 1024)).samples),
      60 / (0.1 + 0.02) * 8, 400);
}

TEST(SimulatorTest, RateIsThatOfTheWorkers) {
  PipelineTrace trace = LatencyOnly();
  trace.job.work_seconds = 0.01;  // 2 of them: 200 samples a second
  EXPECT_NEAR(
      static_cast<double>(SimulateStatic(trace, Setting(200, 2, 1024)).samples),
      200 * 60, 200);
}

TEST(SimulatorTest, WorkersBeyondTheFreeCoresStealTime) {
  PipelineTrace trace = LatencyOnly();
  trace.job.work_seconds = 0.005;  // 3.2 cores, and the trainer has 2 of 4
  const SimulatedRun run = SimulateStatic(trace, Setting(200, 4, 1024));
  EXPECT_GT(run.stolen_seconds, 1);
  EXPECT_EQ(SimulateStatic(trace, Setting(200, 2, 1024)).stolen_seconds, 0);
}

TEST(SimulatorTest, AnOutageCostsWhatTheBufferDoesNotCover) {
  const PipelineTrace trace =
      TraceOf({GoodLink(), WithRate(GoodLink(30), 0), GoodLink(32)}, 60);
  EXPECT_EQ(SimulateStatic(trace, Setting(64, 2, 1500)).stalled_seconds, 0);
  const double half =
      SimulateStatic(trace, Setting(64, 2, 640)).stalled_seconds;
  EXPECT_GT(half, 0.9);
  EXPECT_LT(half, 1.3);
}

TEST(SimulatorTest, SlowFetchesHoldUpABatch) {
  PipelineTrace trace = TraceOf({WithRate(GoodLink(), 1.25e9)}, 60);
  trace.link[0].slow_share = 0.01;
  trace.link[0].slow_seconds = 0.5;
  EXPECT_GT(SimulateStatic(trace, Setting(64, 2, 192)).stalled_seconds, 5);
  EXPECT_LT(SimulateStatic(trace, Setting(64, 2, 1024)).stalled_seconds, 0.6);
}

TEST(SimulatorTest, LateDecodingTakesLessMemory) {
  const PipelineTrace trace = TraceOf({GoodLink()}, 60);
  const SimulatedRun at_once = SimulateStatic(trace, Setting(64, 2, 1024));
  PipelineSetting late = Setting(64, 2, 1024);
  late.finished_ahead = 192;
  const SimulatedRun run = SimulateStatic(trace, late);
  EXPECT_EQ(run.stalled_seconds, 0);
  EXPECT_LT(run.average_bytes, at_once.average_bytes / 2);
  EXPECT_LE(at_once.peak_bytes, 1024 * 49152.0 + 2 * 15000.0);
}

TEST(SimulatorTest, IsDeterministic) {
  const PipelineTrace trace = TraceOf({GoodLink()}, 20);
  const SimulatedRun a = SimulateStatic(trace, Setting(7, 2, 300));
  const SimulatedRun b = SimulateStatic(trace, Setting(7, 2, 300));
  EXPECT_EQ(a.stalled_seconds, b.stalled_seconds);
  EXPECT_EQ(a.average_bytes, b.average_bytes);
  EXPECT_EQ(a.samples, b.samples);
}

TEST(SimulatorTest, WhatIsSeenAddsUp) {
  const PipelineTrace trace =
      TraceOf({GoodLink(), WithRate(GoodLink(10), 0), GoodLink(12)}, 20);
  const PipelineSetting setting = Setting(32, 2, 512);
  int64_t fetched = 0;
  int64_t finished = 0;
  int64_t consumed = 0;
  double silence = 0;
  double work = 0;
  PipelineSeen last;
  const SimulatedRun run =
      Simulate(trace, setting, [&](const PipelineSeen& seen) {
        fetched += std::ssize(seen.fetches);
        finished += seen.finished;
        consumed += seen.consumed;
        work += seen.work_seconds;
        silence = std::max(silence, seen.longest_silence);
        last = seen;
        EXPECT_LE(seen.fetching, 32);
        EXPECT_LE(seen.waiting, 512);
        EXPECT_EQ(seen.waiting, fetched - consumed);
        return setting;
      });
  EXPECT_NEAR(static_cast<double>(consumed), static_cast<double>(run.samples),
              64);  // in the last tenth of a second
  EXPECT_NEAR(work, 0.001 * static_cast<double>(finished), 0.01);
  EXPECT_NEAR(silence, 2, 0.05);
  EXPECT_LE(finished, fetched);
}

TEST(OfflineOptimumTest, IsTheDeficitThatMemoryDoesNotCover) {
  // Half of what is wanted comes: half of the time is lost, whatever the
  // memory.
  const double half =
      LeastStall(TraceOf({WithRate(GoodLink(), 3.2e6)}, 60), kMemory, 2);
  EXPECT_NEAR(half, 30, 0.5);
  // 4 s of silence, and room for 2 s of samples (of 10 kB, half of it stored).
  const PipelineTrace outage =
      TraceOf({GoodLink(), WithRate(GoodLink(30), 0), GoodLink(34)}, 60);
  EXPECT_NEAR(LeastStall(outage, 1280 * 10000, 2), 2, 0.1);
  EXPECT_EQ(LeastStall(outage, kMemory, 2), 0);
}

TEST(OfflineOptimumTest, KnowsTheDecoders) {
  PipelineTrace trace = TraceOf({GoodLink()}, 60);
  trace.job.work_seconds = 0.005;  // 2 of them: 400 of 640 a second
  EXPECT_NEAR(LeastStall(trace, kMemory, 2), 60 * (1 - 400.0 / 640), 0.5);
  EXPECT_EQ(LeastStall(trace, kMemory, 4), 0);
}

TEST(OfflineOptimumTest, NobodyIsBetter) {
  for (const double rate : {2e6, 6e6, 12e6}) {
    const PipelineTrace trace =
        TraceOf({WithRate(GoodLink(), rate), WithRate(GoodLink(20), rate / 8),
                 WithRate(GoodLink(25), rate)},
                50);
    for (const int64_t ahead : {128, 1024, 4096}) {
      const SimulatedRun run = SimulateStatic(trace, Setting(64, 2, ahead));
      EXPECT_GE(run.stalled_seconds + 1e-6,
                LeastStall(trace, static_cast<int64_t>(run.peak_bytes), 2,
                           run.first_batch_at))
          << rate << " " << ahead;
    }
  }
}

TEST(OfflineOptimumTest, PausesCostNothing) {
  PipelineTrace trace = TraceOf({GoodLink()}, 60);
  trace.demand = {{.at = 0, .batch_seconds = 0.1},
                  {.at = 20, .batch_seconds = 0},
                  {.at = 40, .batch_seconds = 0.1}};
  EXPECT_EQ(LeastStall(trace, kMemory, 2), 0);
  const SimulatedRun run = SimulateStatic(trace, Setting(64, 2, 1024));
  EXPECT_EQ(run.stalled_seconds, 0);
  EXPECT_NEAR(static_cast<double>(run.samples), 40 * 640, 192);
}

TEST(BaselinesTest, TheHillClimbFindsEnoughFetches) {
  const PipelineTrace trace = TraceOf({WithRate(GoodLink(), 1.25e9)}, 120);
  const PipelineBaseline climb = HillClimb(LimitsOf(trace.job, kMemory));
  double early = 0;
  double late = 0;
  double now = 0;
  Simulate(trace, climb.first, [&](const PipelineSeen& seen) {
    now += seen.seconds;
    (now < 60 ? early : late) += seen.stalled_seconds;
    return climb.rule(seen);
  });
  EXPECT_GT(early, 1);
  EXPECT_LT(late, 0.5);
}

TEST(BaselinesTest, TheOnTimeRuleAddsConnectionsOneByOne) {
  const PipelineTrace trace = TraceOf({WithRate(GoodLink(), 1.25e9)}, 60);
  const PipelineBaseline rule = OnTimeRule(LimitsOf(trace.job, kMemory));
  PipelineSetting last = rule.first;
  Simulate(trace, rule.first, [&](const PipelineSeen& seen) {
    const PipelineSetting next = rule.rule(seen);
    EXPECT_LE(std::abs(next.fetches - last.fetches), 1);
    last = next;
    return next;
  });
  EXPECT_GT(last.fetches, rule.first.fetches);
}

}  // namespace
}  // namespace gandem
