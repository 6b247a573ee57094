// SPDX-License-Identifier: Apache-2.0
//
// Gradient noise measured by whole runs (control.noise_scale_every_rounds): it
// is reported when it is due, and measuring does not change a run's bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "common/config/run_config.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/fleet_runs.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using gandem::testing::ExpectSame;
using gandem::testing::PairOptions;
using gandem::testing::RunPair;
using gandem::testing::SavedStates;
using gandem::testing::SetWorkers;
using gandem::testing::SmallConfig;
using gandem::testing::TempDir;

// Gradient noise by role, rank and round.
using NoiseByRound =
    std::map<std::tuple<Role, int, int64_t>, std::vector<GradientNoise>>;

struct NoiseRun {
  SavedStates states;
  NoiseByRound noise;
};

NoiseRun RunMeasured(RunConfig config, int64_t every) {
  config.mutable_control()->set_noise_scale_every_rounds(every);
  EXPECT_OK(ValidateRunConfig(config));
  NoiseRun run;
  std::mutex mu;
  PairOptions options = {.decoupled = true};
  options.report = [&](const RoundMetrics& metrics) {
    const std::lock_guard lock(mu);
    run.noise[{metrics.role(), metrics.rank(), metrics.round()}] = {
        metrics.gradient_noise().begin(), metrics.gradient_noise().end()};
  };
  auto states = RunPair(config, options);
  EXPECT_OK(states.status());
  run.states = *std::move(states);
  return run;
}

void ExpectSound(const GradientNoise& noise, double small, double large) {
  EXPECT_DOUBLE_EQ(noise.small_images(), small);
  EXPECT_DOUBLE_EQ(noise.large_images(), large);
  // The mean gradient is at most as long as the gradients on average.
  EXPECT_GE(noise.small_square(), noise.large_square() * (1 - 1e-6));
  EXPECT_GT(noise.large_square(), 0);
}

TEST(NoiseRunsTest, MicroBatchesAreMeasuredWithoutChangingTheRun) {
  const TempDir folder;
  RunConfig config = SmallConfig("mlp", folder.path());
  config.set_rounds(5);
  config.mutable_schedule()->set_discriminator_steps_per_round(2);
  config.mutable_generator()->set_batch_size(8);
  config.mutable_generator()->set_micro_batch(4);
  config.mutable_discriminator()->set_batch_size(4);
  config.mutable_discriminator()->set_micro_batch(2);
  const NoiseRun without = RunMeasured(config, 0);
  const NoiseRun with = RunMeasured(config, 2);
  ExpectSame(without.states, with.states);
  for (const auto& [key, noise] : without.noise) EXPECT_TRUE(noise.empty());
  for (const int64_t round : {0, 1, 2, 3, 4}) {
    const auto& generator = with.noise.at({GENERATOR, 0, round});
    const auto& discriminator = with.noise.at({DISCRIMINATOR, 0, round});
    if (round % 2 == 0) {
      EXPECT_TRUE(generator.empty());
      EXPECT_TRUE(discriminator.empty());
      continue;
    }
    ASSERT_EQ(generator.size(), 1u);
    EXPECT_EQ(generator[0].part(), GradientNoise::GENERATED);
    ExpectSound(generator[0], 4, 8);
    ASSERT_EQ(discriminator.size(), 2u);
    EXPECT_EQ(discriminator[0].part(), GradientNoise::REAL);
    EXPECT_EQ(discriminator[1].part(), GradientNoise::GENERATED);
    for (const GradientNoise& noise : discriminator) ExpectSound(noise, 2, 4);
  }
}

TEST(NoiseRunsTest, WorkersAreComparedWithTheirFleetWithoutChangingTheRun) {
  const TempDir folder;
  RunConfig config = SmallConfig("mlp", folder.path());
  config.set_rounds(2);
  config.mutable_generator()->set_batch_size(8);
  config.mutable_discriminator()->set_batch_size(8);
  SetWorkers(2, 2, config);
  const NoiseRun without = RunMeasured(config, 0);
  const NoiseRun with = RunMeasured(config, 1);
  ExpectSame(without.states, with.states);
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    double sum = 0;
    for (const int rank : {0, 1}) {
      const auto& noise = with.noise.at({role, rank, 1});
      ASSERT_EQ(noise.size(), 1u) << Role_Name(role);
      EXPECT_EQ(noise[0].part(), GradientNoise::ALL);
      EXPECT_DOUBLE_EQ(noise[0].small_images(), 4);
      EXPECT_DOUBLE_EQ(noise[0].large_images(), 8);
      EXPECT_DOUBLE_EQ(noise[0].large_square(),
                       with.noise.at({role, 0, 1})[0].large_square());
      sum += noise[0].small_square();
    }
    EXPECT_GE(sum / 2,
              with.noise.at({role, 0, 1})[0].large_square() * (1 - 1e-6));
  }
}

}  // namespace
}  // namespace gandem
