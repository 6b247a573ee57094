// SPDX-License-Identifier: Apache-2.0
#include "training/roles/training_role.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "common/monotonic_time.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

constexpr double kMicroseconds = 1e-6;

// Runs busily, so that a gap between two rounds would be detected.
void LetTimePass() {
  const absl::Time end = MonotonicNow() + absl::Milliseconds(1);
  while (MonotonicNow() < end) {
  }
}

void ExpectNoGap(const RoundMetrics& before, const RoundMetrics& after) {
  EXPECT_NEAR(after.unix_seconds() - before.unix_seconds(),
              after.round_seconds(), 5 * kMicroseconds)
      << "round " << after.round() << " of role " << after.role();
}

TEST(RoundTimerTest, WaitsBelongToTheRoundInWhichTheyOccur) {
  RoundTimer timer;
  (void)timer.Timed(RoundTimer::kData, {WorkerPosition::DATA},
                    [] { return LetTimePass(), absl::OkStatus(); });
  RoundMetrics first;
  timer.EndRound(first);
  LetTimePass();
  RoundMetrics second;
  timer.EndRound(second);
  EXPECT_GE(first.wait_data_seconds(), 1e-3);
  EXPECT_GE(first.round_seconds(), first.wait_data_seconds());
  EXPECT_EQ(second.wait_data_seconds(), 0);
  ExpectNoGap(first, second);
}

// A collective whose busy times are set by the test.
class PlayedCollective : public Collective {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  absl::Status Wait(Ticket, absl::Time) override { return absl::OkStatus(); }
  void Close(absl::Status) override {}
  CollectiveStats stats() const override { return now; }
  CollectiveStats now;

 private:
  Ticket Submit(const Operation&) override { return 1; }
};

TEST(RoundTimerTest, CommunicationIsExposedWhileACallerWaits) {
  PlayedCollective fleet;
  fleet.now = {.sent_bytes = 500,
               .busy = absl::Seconds(100),
               .waited = absl::Seconds(50)};
  RoundTimer timer(&fleet);
  // The fleet is busy for 0.4 s during the backward pass.
  fleet.now.busy += absl::Seconds(0.4);
  // A forward pass waits 0.2 s for statistics of all ranks.
  fleet.now.busy += absl::Seconds(0.2);
  fleet.now.waited += absl::Seconds(0.2);
  // The synchronizer takes 0.3 s: 0.1 s of waiting and 0.2 s of unpacking.
  constexpr RoundTimer::Awaited kGradients = {WorkerPosition::GRADIENTS,
                                              GENERATOR};
  (void)timer.Timed(RoundTimer::kSync, kGradients, [&] {
    fleet.now.busy += absl::Seconds(0.3);
    fleet.now.waited += absl::Seconds(0.1);
    fleet.now.sent_bytes += 70;
    return absl::OkStatus();
  });
  (void)timer.Timed(RoundTimer::kSync, kGradients, [&] {
    fleet.now.busy += absl::Seconds(0.1);
    return LetTimePass(), absl::OkStatus();
  });
  RoundMetrics metrics;
  timer.EndRound(metrics);
  EXPECT_NEAR(metrics.hidden_sync_seconds(), 0.4, kMicroseconds);
  // The synchronizer's time is measured by the real clock.
  EXPECT_GE(metrics.wait_sync_seconds(), 0.2 + 1e-3);
  EXPECT_LT(metrics.wait_sync_seconds(), 0.2 + 1);
  EXPECT_EQ(metrics.sync_bytes(), 70);

  fleet.now.busy += absl::Seconds(2);
  timer.EndRound(metrics);
  EXPECT_NEAR(metrics.hidden_sync_seconds(), 2, kMicroseconds);
  EXPECT_EQ(metrics.wait_sync_seconds(), 0);
  EXPECT_EQ(metrics.sync_bytes(), 0);
}

TEST(RoundTimerTest, ASingleWorkerHasNoCommunication) {
  RoundTimer timer;
  (void)timer.Timed(RoundTimer::kData, {WorkerPosition::DATA},
                    [] { return absl::OkStatus(); });
  RoundMetrics metrics;
  timer.EndRound(metrics);
  EXPECT_EQ(metrics.hidden_sync_seconds(), 0);
  EXPECT_EQ(metrics.wait_sync_seconds(), 0);
  EXPECT_EQ(metrics.sync_bytes(), 0);
}

TEST(RoundTimerTest, AWaitIsOnTheBoardUntilItEnds) {
  WaitBoard board(/*first_round=*/0);
  RoundTimer timer(nullptr, &board);
  absl::Status result = absl::DeadlineExceededError("not yet");
  const auto wait = [&] {
    return timer.Timed(
        RoundTimer::kFeedback, {WorkerPosition::WEIGHTS, DISCRIMINATOR},
        [] { return 3; }, [&] { return result; });
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(wait()));
  EXPECT_EQ(board.Position().wait(), WorkerPosition::WEIGHTS);
  EXPECT_EQ(board.Position().whom(), DISCRIMINATOR);
  EXPECT_EQ(board.Position().rank(), 3);
  result = absl::OkStatus();
  EXPECT_OK(wait());
  EXPECT_EQ(board.Position().wait(), WorkerPosition::NOTHING);
  EXPECT_EQ(board.Position().whom(), ROLE_UNKNOWN);
}

// Checkpoints, the gate and reporting run between rounds.
TEST(TrainingRoleTest, RoundTimesCoverTheWholeTimeOfARole) {
  const gandem::testing::TempDir folder;
  const RunConfig config = gandem::testing::SmallConfig("mlp", folder.path());
  std::map<Role, std::vector<RoundMetrics>> rounds;
  ASSERT_OK(
      gandem::testing::RunPair(config, {.report = [&](const RoundMetrics& m) {
                                 rounds[m.role()].push_back(m);
                                 LetTimePass();
                               }}));
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    ASSERT_EQ(rounds[role].size(), static_cast<size_t>(config.rounds()));
    for (size_t i = 1; i < rounds[role].size(); ++i) {
      ExpectNoGap(rounds[role][i - 1], rounds[role][i]);
    }
  }
}

// A discriminator that waits for images or for the end responds immediately
// when a generator requests its current version.
TEST(TrainingRoleTest, ABoundedRunDoesNotWaitForPolling) {
  const gandem::testing::TempDir folder;
  for (const auto feedback :
       {ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT}) {
    for (const int lag : {1, 3}) {
      RunConfig config = gandem::testing::SmallConfig("mlp", folder.path());
      config.mutable_schedule()->set_consistency(ScheduleConfig::BOUNDED);
      config.mutable_schedule()->set_feedback(feedback);
      config.mutable_schedule()->set_lag(lag);
      config.mutable_generator()->set_micro_batch(3);
      constexpr absl::Duration kPoll = absl::Minutes(1);
      const absl::Time begin = MonotonicNow();
      ASSERT_OK(gandem::testing::RunPair(
          config, {.decoupled = true, .delay_seed = 0, .poll = kPoll}));
      EXPECT_LT(MonotonicNow() - begin, kPoll) << feedback << " lag " << lag;
    }
  }
}

// Trap T18: an option decides whether a generated batch is used for both
// networks or drawn again, and images for the discriminator alone do not change
// the generator's statistics.
TEST(TrainingRoleTest, FreshImagesDifferAndChangeNoStatistics) {
  const gandem::testing::TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("dcgan", folder.path());
  config.set_rounds(3);
  std::map<bool, std::vector<NamedTensor>> generators;
  for (const bool fresh : {false, true}) {
    config.mutable_schedule()->set_image_source(fresh ? ScheduleConfig::FRESH
                                                      : ScheduleConfig::REUSED);
    ASSERT_OK_AND_ASSIGN(const auto states,
                         gandem::testing::RunPair(config, {}));
    generators[fresh] = states.at(3).at("generator-0.safetensors");
    int counters = 0;
    for (const NamedTensor& tensor : generators[fresh]) {
      if (tensor.name.find("model.") != 0 ||
          tensor.name.find("num_batches_tracked") == std::string::npos) {
        continue;
      }
      ++counters;
      EXPECT_EQ(*reinterpret_cast<const int64_t*>(tensor.bytes.data()), 3)
          << tensor.name;
    }
    EXPECT_GT(counters, 0);
  }
  EXPECT_FALSE(gandem::testing::Differences(generators[false], generators[true])
                   .empty());
}

// Trap T19: with micro-batches, statistics are updated once per training
// forward pass, not once per step.
TEST(TrainingRoleTest, StatisticsCountMicroBatches) {
  const gandem::testing::TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("dcgan", folder.path());
  constexpr int kRounds = 2;
  config.set_rounds(kRounds);
  config.mutable_generator()->set_micro_batch(2);
  config.mutable_discriminator()->set_micro_batch(4);
  ASSERT_OK_AND_ASSIGN(const auto states, gandem::testing::RunPair(config, {}));
  const auto expect = [&](const std::string& file, int64_t forwards) {
    int counters = 0;
    for (const NamedTensor& tensor : states.at(kRounds).at(file)) {
      if (!tensor.name.starts_with("model.") ||
          !tensor.name.ends_with("num_batches_tracked")) {
        continue;
      }
      ++counters;
      EXPECT_EQ(*reinterpret_cast<const int64_t*>(tensor.bytes.data()),
                forwards)
          << tensor.name;
    }
    EXPECT_GT(counters, 0);
  };
  expect("generator-0.safetensors", kRounds * 3);
  expect("discriminator-0.safetensors", kRounds * 2 * 2);  // real, generated
}

// Trap T15: Chainer's SNGAN and the WGAN-GP ResNet train the generator with
// twice the images of a discriminator step.
TEST(TrainingRoleTest, TheGeneratorHasItsOwnBatchSize) {
  const gandem::testing::TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("mlp", folder.path());
  config.mutable_schedule()->set_image_source(ScheduleConfig::FRESH);
  config.mutable_schedule()->set_discriminator_steps_per_round(5);
  config.mutable_discriminator()->set_batch_size(4);
  config.mutable_generator()->set_batch_size(8);
  std::map<Role, int64_t> images;
  ASSERT_OK(
      gandem::testing::RunPair(config, {.report = [&](const RoundMetrics& m) {
                                 images[m.role()] = m.images();
                               }}));
  EXPECT_EQ(images[GENERATOR], 8);
  EXPECT_EQ(images[DISCRIMINATOR], 5 * 4);
}

}  // namespace
}  // namespace gandem
