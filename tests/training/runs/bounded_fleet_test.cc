// SPDX-License-Identifier: Apache-2.0
//
// BOUNDED with several workers per role: all ranks of a fleet make the same
// updates, whatever each rank has received, reused or dropped, and there is no
// deadlock.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

// generators, discriminators, L, R, uses of an image, fresh, feedback
using BoundedFleetCell =
    std::tuple<int, int, int, int, int, bool, ScheduleConfig::FeedbackMode>;

std::string BoundedFleetCellName(
    const ::testing::TestParamInfo<BoundedFleetCell>& info) {
  const auto& [generators, discriminators, lag, steps, uses, fresh, feedback] =
      info.param;
  return absl::StrCat("G", generators, "_D", discriminators, "_L", lag, "_R",
                      steps, "_uses", uses, fresh ? "_FRESH_" : "_REUSED_",
                      ScheduleConfig::FeedbackMode_Name(feedback));
}

class BoundedFleetTest : public ::testing::TestWithParam<BoundedFleetCell> {};

// The metrics that every worker reported, one entry for each of its rounds.
using RoundsOf = std::map<std::pair<Role, int>, std::vector<RoundMetrics>>;

// Runs 8 rounds and expects that every worker completes them.
RoundsOf RunBounded(RunConfig config) {
  config.set_rounds(8);
  config.mutable_schedule()->set_consistency(ScheduleConfig::BOUNDED);
  for (RoleConfig* role :
       {config.mutable_generator(), config.mutable_discriminator()}) {
    // Ends the run if two ranks differ in any bit.
    role->mutable_sync()->set_divergence_check_interval(1);
  }
  RoundsOf rounds;
  absl::Mutex mu;
  const auto report = [&](const RoundMetrics& metrics) {
    absl::MutexLock lock(&mu);
    rounds[{metrics.role(), metrics.rank()}].push_back(metrics);
    EXPECT_LE(metrics.lag(), config.schedule().lag());
    EXPECT_TRUE(std::isfinite(metrics.loss()));
  };
  EXPECT_OK(
      gandem::testing::RunPair(config, {.decoupled = true, .report = report}));
  EXPECT_EQ(rounds.size(),
            static_cast<size_t>(config.generator().workers() +
                                config.discriminator().workers()));
  for (const auto& [worker, completed] : rounds) EXPECT_EQ(completed.size(), 8);
  return rounds;
}

TEST_P(BoundedFleetTest, AllRanksMakeTheSameUpdates) {
  const auto& [generators, discriminators, lag, steps, uses, fresh, feedback] =
      GetParam();
  const gandem::testing::TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("mlp", folder.path());
  ScheduleConfig& schedule = *config.mutable_schedule();
  schedule.set_lag(lag);
  schedule.set_discriminator_steps_per_round(steps);
  schedule.set_max_samples_per_image(uses);
  schedule.set_image_source(fresh ? ScheduleConfig::FRESH
                                  : ScheduleConfig::REUSED);
  schedule.set_feedback(feedback);
  config.mutable_generator()->set_batch_size(fresh ? 5 : 6 * steps);
  config.mutable_generator()->set_workers(generators);
  config.mutable_discriminator()->set_workers(discriminators);
  RunBounded(config);
}

TEST(BoundedFleetAdaTest, AllRanksAugmentAlike) {
  const gandem::testing::TempDir folder;
  RunConfig config = gandem::testing::SmallConfig("mlp", folder.path());
  AdaConfig& ada = *config.mutable_augmentation()->mutable_ada();
  ada.set_target(0.1);
  ada.set_p(0.5);
  ada.set_interval(2);
  ada.set_images_to_full(150);
  config.mutable_schedule()->set_lag(2);
  config.mutable_generator()->set_workers(2);
  config.mutable_discriminator()->set_workers(3);
  const RoundsOf rounds = RunBounded(config);
  const auto& first = rounds.at({DISCRIMINATOR, 0});
  for (int rank = 1; rank < 3; ++rank) {
    const auto& other = rounds.at({DISCRIMINATOR, rank});
    for (size_t round = 0; round < first.size(); ++round) {
      EXPECT_EQ(other[round].ada_p(), first[round].ada_p()) << round;
      EXPECT_EQ(other[round].ada_r_t(), first[round].ada_r_t()) << round;
    }
  }
  EXPECT_NE(first.back().ada_p(), 0.5);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BoundedFleetTest,
    ::testing::Combine(::testing::Values(1, 2), ::testing::Values(2, 3),
                       ::testing::Values(2), ::testing::Values(1, 2),
                       ::testing::Values(3), ::testing::Values(false),
                       ::testing::Values(ScheduleConfig::SNAPSHOT,
                                         ScheduleConfig::IMAGE_GRADIENT)),
    BoundedFleetCellName);
INSTANTIATE_TEST_SUITE_P(
    Lags, BoundedFleetTest,
    ::testing::Combine(::testing::Values(3), ::testing::Values(2),
                       ::testing::Values(1, 4), ::testing::Values(1),
                       ::testing::Values(1, 2), ::testing::Bool(),
                       ::testing::Values(ScheduleConfig::SNAPSHOT,
                                         ScheduleConfig::IMAGE_GRADIENT)),
    BoundedFleetCellName);

}  // namespace
}  // namespace gandem
