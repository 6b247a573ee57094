// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ProgressView RunningView() {
  ProgressView view;
  view.status.set_state(StatusReply::RUNNING);
  view.status.set_rounds(6000);
  view.status.set_completed_rounds(1500);
  view.status.set_images_per_second(85.4);
  view.status.set_eta_seconds(3372);
  view.generator.set_role(GENERATOR);
  view.generator.set_loss(1.2345);
  view.generator.set_lag(1);
  view.discriminator.set_role(DISCRIMINATOR);
  view.discriminator.set_loss(0.5);
  view.discriminator.set_cache_images(64);
  view.discriminator.set_cache_capacity(128);
  return view;
}

TEST(ProgressBarTest, EverythingIsShownOnAWideTerminal) {
  EXPECT_EQ(ProgressBar(RunningView(), 120),
            "[==========                              ] 1500/6000 25% ETA "
            "56m12s 85 img/s G 1.234 D 0.500 lag 1 cache 50%");
}

TEST(ProgressBarTest, TheBarNeverExceedsTheTerminal) {
  for (int width = 0; width < 200; ++width) {
    EXPECT_LE(ProgressBar(RunningView(), width).size(), width);
  }
}

TEST(ProgressBarTest, LeastImportantFieldsAreLeftOut) {
  const std::string bar = ProgressBar(RunningView(), 60);
  EXPECT_THAT(bar, HasSubstr("1500/6000 25% ETA 56m12s"));
  EXPECT_THAT(bar, Not(HasSubstr("cache")));
  EXPECT_THAT(ProgressBar(RunningView(), 24), HasSubstr("1500/6000 25%"));
}

TEST(ProgressBarTest, TheBarIsFullOnlyAtTheEnd) {
  ProgressView view = RunningView();
  view.status.set_completed_rounds(5999);
  EXPECT_THAT(ProgressBar(view, 100), HasSubstr(" 99%"));
  EXPECT_THAT(ProgressBar(view, 100), HasSubstr("= ]"));
  view.status.set_completed_rounds(6000);
  EXPECT_THAT(ProgressBar(view, 100), HasSubstr(" 100%"));
}

TEST(ProgressBarTest, WorkersThatARunWaitsForAreNamed) {
  ProgressView view;
  view.status.set_state(StatusReply::STARTING);
  WorkerStatus* const worker = view.status.add_workers();
  worker->set_role(GENERATOR);
  worker->set_state(WorkerStatus::READY);
  EXPECT_EQ(ProgressBar(view, 80), "starting: generator 0 ready");
  EXPECT_EQ(ProgressLine(view), "starting: generator 0 ready");
}

TEST(ProgressLineTest, BothLagsAndTheCacheAreShown) {
  EXPECT_EQ(ProgressLine(RunningView()),
            "round 1500/6000 (25.0%) | ETA 56m12s | 85.4 images/s | generator "
            "loss 1.234 lag 1 | discriminator loss 0.500 lag 0 | cache "
            "64/128");
}

TEST(DataDisplayTest, WaitsForDataAreShownFromFivePercentOn) {
  ProgressView view = RunningView();
  view.status.mutable_data()->set_wait_share(0.31);
  view.status.mutable_data()->set_stage("fetch");
  EXPECT_THAT(ProgressBar(view, 160),
              HasSubstr(" lag 1 waits for data 31%: fetch cache 50%"));
  EXPECT_THAT(ProgressLine(view),
              HasSubstr("| waits for data 31%: fetch | cache 64/128"));
  view.status.mutable_data()->set_wait_share(0.049);
  EXPECT_THAT(ProgressBar(view, 160), Not(HasSubstr("data")));
  EXPECT_THAT(ProgressLine(view), Not(HasSubstr("data")));
}

TEST(DataDisplayTest, TrackerReadsTheRecords) {
  ProgressTracker tracker(/*images_per_round=*/64);
  RoundMetrics metrics;
  metrics.set_role(DISCRIMINATOR);
  metrics.set_run_epoch(1);
  metrics.set_round_seconds(1);
  metrics.set_wait_data_seconds(0.5);
  metrics.mutable_data()->set_decode_stall_seconds(0.5);
  tracker.AddMetrics(metrics);
  const ProgressView view = tracker.View(StatusReply());
  EXPECT_EQ(view.status.data().wait_share(), 0.5);
  EXPECT_EQ(view.status.data().stage(), "decode");
}

ProgressView FleetView() {
  ProgressView view = RunningView();
  FleetStatus* const generators = view.status.add_fleets();
  generators->set_role(GENERATOR);
  generators->set_workers(1);
  generators->set_images_per_second(85.6);
  generators->set_lag(1);
  generators->set_straggler(-1);
  FleetStatus* const discriminators = view.status.add_fleets();
  discriminators->set_role(DISCRIMINATOR);
  discriminators->set_workers(12);
  discriminators->set_images_per_second(85.4);
  discriminators->set_sync_share(0.031);
  discriminators->set_straggler(7);
  discriminators->set_straggler_excess(0.254);
  return view;
}

TEST(FleetDisplayTest, BarHasAFieldForEachFleet) {
  EXPECT_EQ(ProgressBar(FleetView(), 160),
            "[==========                              ] 1500/6000 25% ETA "
            "56m12s 85 img/s G 1.234 D 0.500 lag 1 G1 86/s sync 0% D12 85/s "
            "sync 3% slow 7 +25% cache 50%");
  for (int width = 0; width < 200; ++width) {
    EXPECT_LE(ProgressBar(FleetView(), width).size(), width);
  }
}

TEST(FleetDisplayTest, LineHasAFieldForEachFleet) {
  EXPECT_THAT(ProgressLine(FleetView()),
              HasSubstr("| G1 86/s sync 0% | D12 85/s sync 3% slow 7 +25% | "
                        "cache 64/128"));
}

TEST(FleetDisplayTest, TableHasARowForEachFleet) {
  EXPECT_EQ(FleetTable(FleetView().status),
            "  fleet            workers  images/s  lag  sync  straggler\n"
            "  generator              1      85.6    1    0%  -\n"
            "  discriminator         12      85.4    0    3%  rank 7 computes "
            "25% longer\n");
  EXPECT_EQ(FleetTable(RunningView().status), "");
}

TEST(ProgressLineTest, UnknownValuesAreLeftOut) {
  ProgressView view;
  view.status.set_state(StatusReply::RUNNING);
  view.status.set_rounds(10);
  EXPECT_EQ(ProgressLine(view), "round 0/10 (0.0%)");
}

class TrackerTest : public ::testing::Test {
 protected:
  StatusReply At(double seconds, int64_t completed, int64_t epoch = 1) {
    tracker_.Observe(absl::UnixEpoch() + absl::Seconds(seconds), epoch,
                     completed);
    StatusReply status;
    status.set_state(StatusReply::RUNNING);
    status.set_rounds(100);
    status.set_completed_rounds(completed);
    tracker_.Complete(status);
    return status;
  }
  ProgressTracker tracker_{/*images_per_round=*/64};
};

TEST_F(TrackerTest, SpeedIsMeasuredFromTheFirstRound) {
  At(0, 0);
  At(50, 0);  // starting
  EXPECT_EQ(At(50, 0).images_per_second(), 0);
  At(51, 2);
  const StatusReply status = At(52, 4);
  EXPECT_DOUBLE_EQ(status.images_per_second(), 128);
  EXPECT_DOUBLE_EQ(status.eta_seconds(), 48);
}

TEST_F(TrackerTest, StoppingRunsHaveNoRemainingTime) {
  At(0, 0);
  StatusReply status = At(1, 1);
  EXPECT_GT(status.eta_seconds(), 0);
  status.set_state(StatusReply::STOPPING);
  tracker_.Complete(status);
  EXPECT_EQ(status.eta_seconds(), 0);
  EXPECT_GT(status.images_per_second(), 0);
}

TEST_F(TrackerTest, OldTimesAreForgotten) {
  At(0, 0);
  for (int second = 1; second <= 10; ++second) At(second, second);
  for (int second = 11; second <= 40; ++second) {
    At(second, 10 + 2 * (second - 10));
  }
  EXPECT_DOUBLE_EQ(At(40, 70).images_per_second(), 128);
}

TEST_F(TrackerTest, NewEpochsResetTheSpeed) {
  At(0, 40);
  At(1, 41);
  EXPECT_EQ(At(2, 20, /*epoch=*/2).images_per_second(), 0);
  EXPECT_DOUBLE_EQ(At(3, 21, /*epoch=*/2).images_per_second(), 64);
}

TEST_F(TrackerTest, TheNewestRecordOfEachRoleIsKept) {
  RoundMetrics metrics;
  metrics.set_role(DISCRIMINATOR);
  metrics.set_round(3);
  tracker_.AddMetrics(metrics);
  metrics.set_rank(1);
  metrics.set_round(9);
  tracker_.AddMetrics(metrics);
  const ProgressView view = tracker_.View(StatusReply());
  EXPECT_EQ(view.discriminator.round(), 3);
  EXPECT_EQ(view.generator.role(), ROLE_UNKNOWN);
}

TEST_F(TrackerTest, FleetsAppearWithSeveralWorkers) {
  RoundMetrics metrics;
  metrics.set_role(DISCRIMINATOR);
  metrics.set_round_seconds(2);
  metrics.set_images(64);
  tracker_.AddMetrics(metrics);
  EXPECT_EQ(At(0, 0).fleets_size(), 0);
  metrics.set_rank(1);
  tracker_.AddMetrics(metrics);
  StatusReply status = At(1, 1);
  tracker_.Complete(status);  // a second call
  ASSERT_EQ(status.fleets_size(), 1);
  EXPECT_EQ(status.fleets(0).workers(), 2);
  EXPECT_DOUBLE_EQ(status.fleets(0).images_per_second(), 64);
}

TEST_F(TrackerTest, FleetsMayContinueWithoutRankZero) {
  const auto round = [this](int rank, int64_t epoch, int64_t number) {
    RoundMetrics metrics;
    metrics.set_role(GENERATOR);
    metrics.set_rank(rank);
    metrics.set_run_epoch(epoch);
    metrics.set_round(number);
    tracker_.AddMetrics(metrics);
    return tracker_.View(StatusReply()).generator.round();
  };
  EXPECT_EQ(round(0, 1, 5), 5);
  EXPECT_EQ(round(1, 1, 6), 5);
  EXPECT_EQ(round(1, 2, 6), 6);
  EXPECT_EQ(round(0, 1, 7), 6);  // of an earlier epoch
  EXPECT_EQ(round(0, 3, 8), 8);
  EXPECT_EQ(round(1, 3, 9), 8);
}

TEST(ProgressTrackerTest, HealthWarningsAreShownOnce) {
  ProgressTracker tracker(1);
  RoundMetrics metrics;
  metrics.set_role(GENERATOR);
  metrics.set_rank(0);
  metrics.add_health()->set_text("generator, round 24: layer\x1b[0m");
  tracker.AddMetrics(metrics);
  EXPECT_THAT(tracker.TakeWarnings(),
              ElementsAre("warning: generator, round 24: layer\\x1b[0m"));
  EXPECT_THAT(tracker.TakeWarnings(), IsEmpty());
}

}  // namespace
}  // namespace gandem
