// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/simulated_pipeline.h"

namespace gandem {
namespace {

using ::gandem::testing::DemandPart;
using ::gandem::testing::LinkPart;
using ::gandem::testing::SimulatedPipeline;
using ::gandem::testing::SimulatedRun;
using ::testing::HasSubstr;

constexpr int64_t kMemory = int64_t{256} << 20;
constexpr double kWideLink = 1.25e9;  // bytes a second

struct Controlled {
  SimulatedRun run = {};
  std::vector<PipelineSetting> settings = {};  // one per 0.1 s
  std::string warning = {};
  std::string why = {};  // at the end

  const PipelineSetting& At(double seconds) const {
    return settings[static_cast<size_t>(10 * seconds + 0.5)];
  }
};

PipelineLimits LimitsOf(const SimulatedPipeline& pipeline, int64_t memory) {
  return {
      .memory_bytes = memory,
      .max_workers = static_cast<int>(pipeline.cores - pipeline.trainer_cores),
      .least_ahead = pipeline.batch,
      .sample_bytes = pipeline.sample_bytes};
}

Controlled Control(const SimulatedPipeline& pipeline,
                   int64_t memory = kMemory) {
  PipelineController controller(LimitsOf(pipeline, memory));
  Controlled result = {.settings = {controller.setting()}};
  result.run =
      Simulate(pipeline, controller.setting(), [&](const PipelineSeen& seen) {
        result.settings.push_back(controller.Update(seen));
        result.warning += controller.TakeWarning();
        return result.settings.back();
      });
  result.why = controller.WhyText();
  return result;
}

// Returns the seconds that the trainer waits with a constant setting.
double StallOf(const SimulatedPipeline& pipeline,
               const PipelineSetting& setting) {
  return Simulate(pipeline, setting,
                  [&](const PipelineSeen&) { return setting; })
      .stalled_seconds;
}

SimulatedPipeline OverWideLink(double seconds) {
  return {.link = {{.bytes_per_second = kWideLink}}, .seconds = seconds};
}

// Returns a link with `bytes_per_second` for `length` s of each period.
SimulatedPipeline WithInterruptions(double first, double period, double length,
                                    double bytes_per_second, double seconds) {
  const LinkPart good = {.spread = 0.015};
  SimulatedPipeline pipeline = {.link = {good}, .seconds = seconds};
  for (double at = first; at < seconds; at += period) {
    pipeline.link.push_back(good);
    pipeline.link.back().at = at;
    pipeline.link.back().bytes_per_second = bytes_per_second;
    pipeline.link.push_back(good);
    pipeline.link.back().at = at + length;
  }
  return pipeline;
}

// Little's law: 640 fetches per second of 20 ms each are 13 at once.
TEST(PipelineControllerTest, TheNumberOfFetchesFollowsLittlesLaw) {
  const Controlled seen = Control(OverWideLink(120));
  EXPECT_GE(seen.At(119).fetches, 13);
  EXPECT_LE(seen.At(119).fetches, 26);
  EXPECT_EQ(seen.run.stalled_seconds, 0);
  EXPECT_THAT(seen.why, HasSubstr("640 samples/s"));
}

TEST(PipelineControllerTest, FetchesIncreaseWithinASecondOfABurst) {
  // From second 60 on, the latency is more than four times as long.
  SimulatedPipeline pipeline = OverWideLink(80);
  pipeline.link.push_back(
      {.at = 60, .latency = 0.09, .bytes_per_second = kWideLink});
  const Controlled seen = Control(pipeline);
  EXPECT_GT(seen.At(61).fetches, seen.At(59.9).fetches);
  EXPECT_GE(seen.At(65).fetches, 58);  // 640/s of 90 ms
  EXPECT_EQ(seen.run.stalled_seconds, 0);
}

TEST(PipelineControllerTest, ReadAheadIncreasesWithinASecondOfMoreDemand) {
  SimulatedPipeline pipeline = OverWideLink(200);
  pipeline.demand = {{.batch_seconds = 0.4}, {.at = 150, .batch_seconds = 0.1}};
  const Controlled seen = Control(pipeline);
  EXPECT_GE(seen.At(151.2).ahead, seen.At(149.9).ahead * 3 / 2);
}

TEST(PipelineControllerTest, ReadAheadDecreasesOnACalmLink) {
  const Controlled seen = Control({.seconds = 900});
  const PipelineSetting& early = seen.At(10);
  const PipelineSetting& late = seen.At(899);
  EXPECT_LT(late.ahead, early.ahead / 8);
  EXPECT_LE(late.fetches, early.fetches);
  EXPECT_EQ(late.workers, 1);  // 640/s of 1 ms
  EXPECT_EQ(seen.run.stalled_seconds, 0);
}

TEST(PipelineControllerTest, ReadAheadReturnsToTheLengthThatAnOutageNeeds) {
  // The first gap of 3 s is at 900 s, and further gaps follow.
  const Controlled seen = Control(WithInterruptions(900, 60, 3, 0, 1000));
  EXPECT_LT(seen.At(899).ahead, 640 * 3);
  EXPECT_GE(seen.At(910).ahead, 640 * 3);
  EXPECT_GE(seen.At(959).ahead, 640 * 3);
  // Only the first gap causes a stall.
  EXPECT_GT(seen.run.stalled_seconds, 0.5);
  EXPECT_LT(seen.run.stalled_seconds, 3);
}

TEST(PipelineControllerTest, OutagesThatFitIntoMemoryAreBridged) {
  const SimulatedPipeline outages = WithInterruptions(20, 30, 2, 0, 240);
  const SimulatedPipeline drops = WithInterruptions(40, 60, 10, 1.25e6, 280);
  for (const SimulatedPipeline& pipeline : {outages, drops}) {
    const Controlled seen = Control(pipeline);
    EXPECT_EQ(seen.run.stalled_seconds, 0);
    EXPECT_EQ(seen.run.stolen_seconds, 0);
    EXPECT_EQ(seen.warning, "");
  }
  // The memory covers 3.9 s of 9 s: decoding late loses little more than two
  // thirds of the time that decoding at once loses.
  EXPECT_LT(Control(drops, kMemory / 8).run.stalled_seconds,
            0.7 * StallOf(drops, {.fetches = 64,
                                  .workers = 2,
                                  .ahead = 682,
                                  .finished_ahead = 682}));
}

TEST(PipelineControllerTest, TheControllerDoesNotOscillate) {
  const Controlled wide = Control(OverWideLink(300));
  int64_t changes = 0;
  for (size_t i = 200; i < wide.settings.size(); ++i) {
    const PipelineSetting& before = wide.settings[i - 1];
    EXPECT_LE(wide.settings[i].ahead, before.ahead);
    EXPECT_LE(wide.settings[i].fetches, before.fetches);
    if (i > 600 && i < 1200 && wide.settings[i] != before) ++changes;
  }
  EXPECT_LE(changes, 12);
  const Controlled full =
      Control({.link = {{.bytes_per_second = 6e6}}, .seconds = 300});
  int64_t trials = 0;
  for (size_t i = 1800; i < 3000; ++i) {
    if (full.settings[i].fetches != full.settings[i - 1].fetches) ++trials;
  }
  EXPECT_LE(trials, 8);
}

// Returns a tenth of a second in which `reads` pieces were fetched, in
// `seconds` each.
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
                             .sample_bytes = 49152});
}

// 4 of 64 samples take half a second: 20 fetches at once.
TEST(PipelineControllerTest, AvailableSamplesNeedNoFetch) {
  PipelineController controller = PiecesController();
  for (int i = 0; i < 600; ++i) controller.Update(Pieces(4, 0.5));
  EXPECT_GE(controller.setting().fetches, 20);
  EXPECT_LE(controller.setting().fetches, 45);
}

// For 10 s the link has a tenth of its bandwidth: the pieces requested first
// are needed first, and should share the link with few others.
TEST(PipelineControllerTest, FewPiecesAreFetchedAtOnceOnALinkThatBecameSlow) {
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

TEST(PipelineControllerTest, ASaturatedLinkIsFullyUsed) {
  // 100 of 640 samples per second arrive: only the link limits.
  const SimulatedPipeline pipeline = {.link = {{.bytes_per_second = 1e6}}};
  EXPECT_LE(Control(pipeline).run.stalled_seconds,
            1.01 * StallOf(pipeline, {.fetches = 32,
                                      .workers = 2,
                                      .ahead = 4096,
                                      .finished_ahead = 256}));
}

TEST(PipelineControllerTest, TheMemoryLimitIsKept) {
  for (const int64_t memory : {kMemory, kMemory / 8, kMemory / 32}) {
    // Samples larger than decoded ones are all decoded at once.
    for (const int64_t stored : {3000, 10000, 200000}) {
      if (64 * stored > memory) continue;  // less than a batch
      SimulatedPipeline pipeline = OverWideLink(60);
      pipeline.stored_bytes = stored;
      pipeline.link.push_back({.at = 30, .bytes_per_second = 0});
      pipeline.link.push_back({.at = 33, .bytes_per_second = kWideLink});
      const Controlled seen = Control(pipeline, memory);
      EXPECT_LE(seen.run.peak_bytes, 1.1 * static_cast<double>(memory))
          << stored;
    }
  }
}

TEST(PipelineControllerTest, OneWarningIsLoggedIfMemoryIsTooSmallForAnOutage) {
  const SimulatedPipeline outages = WithInterruptions(20, 30, 4, 0, 80);
  const std::string warning = Control(outages, 16 << 20).warning;
  EXPECT_THAT(warning, HasSubstr("data.memory_bytes"));
  EXPECT_EQ(warning.find("memory_bytes"), warning.rfind("memory_bytes"));
  EXPECT_EQ(Control(outages).warning, "");
}

TEST(PipelineControllerTest, TheNumberOfWorkersFollowsTheWorkUpToTheFreeCores) {
  SimulatedPipeline pipeline = OverWideLink(60);
  pipeline.cores = 16;
  pipeline.work_seconds = 0.005;  // 3.2 cores
  const Controlled seen = Control(pipeline);
  EXPECT_GE(seen.At(59).workers, 4);
  EXPECT_LE(seen.At(59).workers, 5);
  EXPECT_EQ(seen.run.stolen_seconds, 0);
  pipeline.cores = 4;  // two of them are free
  EXPECT_EQ(Control(pipeline).At(59).workers, 2);
}

TEST(PipelineControllerTest, ALocalSourceNeedsLittleReadAhead) {
  // The latency of a millisecond means that there is no network.
  const SimulatedPipeline pipeline = {
      .link = {{.latency = 0, .spread = 0, .bytes_per_second = 1e9}}};
  const Controlled seen = Control(pipeline);
  EXPECT_LE(seen.At(59).ahead, 640);
  EXPECT_LE(seen.At(59).fetches, 4);
  EXPECT_EQ(seen.run.stalled_seconds, 0);
}

TEST(PipelineControllerTest, APauseOfTheTrainerCausesNoStall) {
  SimulatedPipeline pipeline = {.seconds = 200};
  pipeline.demand = {{}, {.at = 60, .batch_seconds = 0}, {.at = 120}};
  const Controlled seen = Control(pipeline);
  EXPECT_EQ(seen.run.stalled_seconds, 0);
  EXPECT_GE(seen.At(125).fetches, 13);
  EXPECT_THAT(seen.why, HasSubstr("640 samples/s"));
}

TEST(PipelineControllerTest, ReadAheadIsAtLeastABatch) {
  const Controlled seen = Control({.seconds = 20}, /*memory=*/1000);
  for (const PipelineSetting& setting : seen.settings) {
    EXPECT_GE(setting.ahead, 64);
    EXPECT_GE(setting.finished_ahead, 64);
    EXPECT_GE(setting.fetches, 1);
    EXPECT_GE(setting.workers, 1);
  }
  EXPECT_GT(seen.run.samples, 640);
}

}  // namespace
}  // namespace gandem
