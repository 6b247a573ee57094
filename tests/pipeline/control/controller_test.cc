// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/control/pipelines.h"

namespace gandem {
namespace {

using ::gandem::testing::Control;
using ::gandem::testing::Controlled;
using ::gandem::testing::GoodLink;
using ::gandem::testing::kMemory;
using ::gandem::testing::TraceOf;
using ::gandem::testing::WithLatency;
using ::gandem::testing::WithRate;
using ::testing::HasSubstr;

// Little's law: 640 fetches a second of 20 ms are 13 at once.
TEST(PipelineControllerTest, FetchesAsLittlesLawSays) {
  const Controlled seen = Control(TraceOf({WithRate(GoodLink(), 1.25e9)}, 120));
  EXPECT_GE(seen.At(119).fetches, 13);
  EXPECT_LE(seen.At(119).fetches, 26);
  EXPECT_EQ(seen.run.stalled_seconds, 0);
  EXPECT_THAT(seen.why, HasSubstr("640 samples/s"));
}

TEST(PipelineControllerTest, AddsFetchesWithinASecondOfABurst) {
  // The latency is ten times as long from second 60 on.
  const Controlled seen =
      Control(TraceOf({WithRate(GoodLink(), 1.25e9),
                       WithLatency(WithRate(GoodLink(60), 1.25e9), 0.09)},
                      80));
  const int before = seen.At(59.9).fetches;
  EXPECT_GT(seen.At(61).fetches, before);
  EXPECT_GE(seen.At(65).fetches, 58);  // 640 of 90 ms
  EXPECT_EQ(seen.run.stalled_seconds, 0);
}

TEST(PipelineControllerTest, GoesFurtherAheadWithinASecondOfMoreDemand) {
  PipelineTrace trace = TraceOf({WithRate(GoodLink(), 1.25e9)}, 200);
  trace.demand = {{.at = 0, .batch_seconds = 0.4},
                  {.at = 150, .batch_seconds = 0.1}};
  const Controlled seen = Control(trace);
  EXPECT_GE(seen.At(151.2).ahead, seen.At(149.9).ahead * 3 / 2);
}

TEST(PipelineControllerTest, GivesBackWhatACalmLinkDoesNotNeed) {
  const Controlled seen = Control(TraceOf({GoodLink()}, 1500));
  const PipelineSetting& early = seen.At(10);
  const PipelineSetting& late = seen.At(1499);
  EXPECT_LT(late.ahead, early.ahead / 8);
  EXPECT_LE(late.fetches, early.fetches);
  EXPECT_EQ(late.workers, 1);  // 640 of 1 ms
  EXPECT_EQ(seen.run.stalled_seconds, 0);
}

TEST(PipelineControllerTest, ComesBackToWhatAnOutageNeeds) {
  // Silent for 3 s when the unseen gap has long faded; then again.
  std::vector<LinkPart> link = {GoodLink()};
  for (const double at : {900.0, 960.0}) {
    link.push_back(WithRate(GoodLink(at), 0));
    link.push_back(GoodLink(at + 3));
  }
  const Controlled seen = Control(TraceOf(link, 1000));
  EXPECT_LT(seen.At(899).ahead, 640 * 3);
  EXPECT_GE(seen.At(910).ahead, 640 * 3);
  EXPECT_GE(seen.At(959).ahead, 640 * 3);
  // The first of them only: what it was not ready for.
  EXPECT_GT(seen.run.stalled_seconds, 0.5);
  EXPECT_LT(seen.run.stalled_seconds, 3);
}

TEST(PipelineControllerTest, DoesNotOscillate) {
  const Controlled wide = Control(TraceOf({WithRate(GoodLink(), 1.25e9)}, 300));
  // Memory and threads are given back, nothing else.
  for (size_t i = 200; i < wide.settings.size(); ++i) {
    EXPECT_LE(wide.settings[i].setting.ahead,
              wide.settings[i - 1].setting.ahead);
    EXPECT_LE(wide.settings[i].setting.fetches,
              wide.settings[i - 1].setting.fetches);
  }
  EXPECT_LE(wide.ChangesIn(60, 120), 12);
  // Demand that is all that the link has: one trial and back, less and less
  // often.
  const Controlled full = Control(TraceOf({WithRate(GoodLink(), 6e6)}, 300));
  int64_t trials = 0;
  for (size_t i = 1800; i < 3000; ++i) {
    if (full.settings[i].setting.fetches !=
        full.settings[i - 1].setting.fetches) {
      ++trials;
    }
  }
  EXPECT_LE(trials, 8);
}

// A second of samples in pieces, of which `reads` are brought in it, in so much
// time each.
PipelineSeen Pieces(int reads, double seconds) {
  PipelineSeen seen = {.seconds = 0.1,
                       .consumed = 64,
                       .fetching = reads * static_cast<int64_t>(10 * seconds),
                       .waiting = 1 << 12};
  for (int i = 0; i < reads; ++i) {
    seen.fetches.push_back({.seconds = seconds, .bytes = 10000});
  }
  while (seen.fetches.size() < 64) {
    seen.fetches.push_back({.seconds = 1e-5, .bytes = 10000, .at_hand = true});
  }
  return seen;
}

PipelineController PiecesController() {
  return PipelineController({.memory_bytes = kMemory,
                             .max_workers = 1,
                             .least_ahead = 64,
                             .sample_bytes = 49152,
                             .decodes_late = true});
}

// 4 of 64 samples wait for half a second: 20 at once, and what is missing.
TEST(PipelineControllerTest, SamplesThatAreAtHandTakeNoPlace) {
  PipelineController controller = PiecesController();
  for (int i = 0; i < 600; ++i) controller.Update(Pieces(4, 0.5));
  EXPECT_GE(controller.setting().fetches, 20);
  EXPECT_LE(controller.setting().fetches, 45);
  // As looks they take it as they did.
  PipelineSeen looks = Pieces(0, 0.5);
  looks.look_seconds.assign(4, 0.5);
  looks.fetching = 20;
  for (int i = 0; i < 600; ++i) controller.Update(looks);
  EXPECT_GE(controller.setting().fetches, 20);
  EXPECT_LE(controller.setting().fetches, 45);
}

// A tenth of the link for 10 s: what was asked for first is needed first, and
// shares the link with few others.
TEST(PipelineControllerTest, FewPiecesAreUnderWayOnALinkThatBecameSlow) {
  PipelineController controller = PiecesController();
  for (int i = 0; i < 600; ++i) controller.Update(Pieces(4, 0.5));
  const int before = controller.setting().fetches;
  PipelineSeen slow = {
      .seconds = 0.1, .consumed = 64, .fetching = 20, .waiting = 1 << 12};
  for (int i = 0; i < 30; ++i) controller.Update(slow);
  EXPECT_LE(controller.setting().fetches, 10);
  for (int i = 0; i < 30; ++i) controller.Update(Pieces(4, 0.5));
  EXPECT_GE(controller.setting().fetches, 20);
  EXPECT_LE(controller.setting().fetches, before);
}

TEST(PipelineControllerTest, AddsNoFetchesOnASaturatedLink) {
  // 100 of 640 samples a second: 64 fetches would take 0.64 s each.
  const Controlled seen = Control(TraceOf({WithRate(GoodLink(), 1e6)}, 60));
  EXPECT_LE(seen.At(59).fetches, 33);
  EXPECT_THAT(seen.why, HasSubstr("the link is full"));
  // It costs nothing: the link is all that limits.
  const SimulatedRun most = SimulateStatic(
      TraceOf({WithRate(GoodLink(), 1e6)}, 60),
      {.fetches = 64, .workers = 2, .ahead = 4096, .finished_ahead = 256});
  EXPECT_LE(seen.run.stalled_seconds, 1.01 * most.stalled_seconds);
}

TEST(PipelineControllerTest, StaysWithinItsMemory) {
  for (const int64_t memory : {kMemory, kMemory / 8, kMemory / 32}) {
    for (const double stored : {3000.0, 10000.0, 200000.0}) {
      PipelineTrace trace =
          TraceOf({WithRate(GoodLink(), 1.25e9), WithRate(GoodLink(30), 0),
                   WithRate(GoodLink(33), 1.25e9)},
                  60);
      trace.job.stored_bytes = static_cast<int64_t>(stored);
      if (64 * stored > static_cast<double>(memory)) continue;  // no batch
      const Controlled seen = Control(trace, memory);
      EXPECT_LE(seen.run.peak_bytes, 1.1 * static_cast<double>(memory))
          << stored;
    }
  }
}

TEST(PipelineControllerTest, WhoDecodesAtOnceStaysWithinItsMemoryToo) {
  const PipelineTrace trace = TraceOf({WithRate(GoodLink(), 1.25e9)}, 30);
  PipelineLimits limits = LimitsOf(trace.job, kMemory / 4);
  limits.decodes_late = false;
  const Controlled seen = Control(trace, limits);
  EXPECT_EQ(seen.At(29).finished_ahead, seen.At(29).ahead);
  EXPECT_LE(seen.run.peak_bytes, 1.1 * static_cast<double>(kMemory / 4));
  EXPECT_GE(seen.run.peak_bytes, 0.5 * static_cast<double>(kMemory / 4));
}

TEST(PipelineControllerTest, WarnsOnceWhenMemoryIsLessThanAnOutageNeeds) {
  std::vector<LinkPart> link = {GoodLink()};
  for (const double at : {20.0, 50.0}) {
    link.push_back(WithRate(GoodLink(at), 0));
    link.push_back(GoodLink(at + 4));
  }
  const std::string warning = Control(TraceOf(link, 80), 16 << 20).warning;
  EXPECT_THAT(warning, HasSubstr("data.memory_bytes"));
  EXPECT_EQ(warning.find("memory_bytes"), warning.rfind("memory_bytes"));
  EXPECT_EQ(Control(TraceOf(link, 80), kMemory).warning, "");
}

TEST(PipelineControllerTest, WorkersFollowTheWorkUpToTheFreeCores) {
  PipelineTrace trace = TraceOf({WithRate(GoodLink(), 1.25e9)}, 60);
  trace.job.cores = 16;
  trace.job.work_seconds = 0.005;  // 3.2 cores
  const Controlled seen = Control(trace);
  EXPECT_GE(seen.At(59).workers, 4);
  EXPECT_LE(seen.At(59).workers, 5);
  EXPECT_EQ(seen.run.stolen_seconds, 0);
  trace.job.cores = 4;  // two of them are free
  EXPECT_EQ(Control(trace).At(59).workers, 2);
}

TEST(PipelineControllerTest, AFilesSourceTakesLittle) {
  // A tenth of a millisecond each: no network.
  LinkPart disk = WithRate(GoodLink(), 1e9);
  disk.latency = 1e-4;
  disk.spread = 0;
  const Controlled seen = Control(TraceOf({disk}, 60));
  EXPECT_LE(seen.At(59).ahead, 640);
  EXPECT_LE(seen.At(59).fetches, 4);
  EXPECT_EQ(seen.run.stalled_seconds, 0);
}

TEST(PipelineControllerTest, ATrainerThatStopsFreesMemory) {
  PipelineTrace trace = TraceOf({GoodLink()}, 400);
  trace.demand.push_back({.at = 60, .batch_seconds = 0});
  const Controlled seen = Control(trace);
  EXPECT_LT(seen.At(399).ahead, seen.At(59).ahead / 8);
}

TEST(PipelineControllerTest, AheadIsNeverLessThanABatch) {
  const Controlled seen = Control(TraceOf({GoodLink()}, 20), /*memory=*/1000);
  for (const auto& [at, setting] : seen.settings) {
    EXPECT_GE(setting.ahead, 64);
    EXPECT_GE(setting.finished_ahead, 64);
    EXPECT_GE(setting.fetches, 1);
    EXPECT_GE(setting.workers, 1);
  }
  EXPECT_GT(seen.run.samples, 640);
}

}  // namespace
}  // namespace gandem
