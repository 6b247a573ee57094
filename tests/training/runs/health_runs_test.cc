// SPDX-License-Identifier: Apache-2.0
//
// Health reports of whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "common/config/run_config.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/training/runs/pair.h"

namespace gandem {
namespace {

using gandem::testing::PairOptions;
using gandem::testing::RunPair;
using gandem::testing::SmallConfig;
using gandem::testing::StatusIs;
using gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct HealthRun {
  absl::Status status;
  std::vector<std::string> warnings;
  std::map<int64_t, double> gradients;  // by round
  std::map<int64_t, double> spreads;
};

HealthRun RunWatched(RunConfig config) {
  config.set_rounds(40);
  config.mutable_checkpoint()->set_every_rounds(0);
  EXPECT_OK(ValidateRunConfig(config));
  HealthRun run;
  PairOptions options;
  options.report = [&run](const RoundMetrics& metrics) {
    for (const HealthWarning& warning : metrics.health()) {
      run.warnings.push_back(warning.text());
    }
    if (metrics.has_image_gradient_norm()) {
      run.gradients[metrics.round()] = metrics.image_gradient_norm();
    }
    if (metrics.has_image_spread()) {
      run.spreads[metrics.round()] = metrics.image_spread();
    }
  };
  run.status = RunPair(config, options).status();
  return run;
}

TEST(HealthRunsTest, AHealthyRunIsMeasuredWithoutWarnings) {
  const TempDir folder;
  for (const std::string family : {"mlp", "dcgan", "sndcgan", "stylegan2"}) {
    const HealthRun run = RunWatched(SmallConfig(family, folder.path()));
    EXPECT_OK(run.status);
    EXPECT_THAT(run.warnings, IsEmpty()) << family;
    EXPECT_EQ(run.gradients.size(), 8) << family;  // of 40 rounds
    EXPECT_EQ(run.spreads.size(), 8) << family;
    EXPECT_EQ(run.gradients.begin()->first, 4);
    for (const auto& [round, norm] : run.gradients) EXPECT_GT(norm, 0);
  }
}

TEST(HealthRunsTest, EveryFeedbackModeMeasuresImageGradients) {
  const TempDir folder;
  RunConfig config = SmallConfig("mlp", folder.path());
  const HealthRun snapshot = RunWatched(config);
  config.mutable_schedule()->set_feedback(ScheduleConfig::IMAGE_GRADIENT);
  const HealthRun gradient = RunWatched(config);
  EXPECT_NEAR(snapshot.gradients.at(4), gradient.gradients.at(4),
              1e-3 * snapshot.gradients.at(4));
  EXPECT_NEAR(snapshot.spreads.at(4), gradient.spreads.at(4), 1e-3);
}

TEST(HealthRunsTest, ARoleThatDoesNotMoveIsReported) {
  const TempDir folder;
  RunConfig config = SmallConfig("mlp", folder.path());
  // The rate is positive, but too small to change a parameter.
  config.mutable_discriminator()
      ->mutable_optimizer()
      ->mutable_sgd()
      ->set_learning_rate(1e-30);
  const HealthRun run = RunWatched(config);
  EXPECT_OK(run.status);
  EXPECT_THAT(run.warnings,
              ElementsAre(AllOf(StartsWith("discriminator, round 24: "),
                                HasSubstr("have not moved"))));
  config.mutable_control()->set_on_divergence(ControlConfig::STOP_EARLY);
  EXPECT_THAT(RunWatched(config).status,
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("discriminator, round 24")));
}

// The weights are minus the last gradient, so small that noise has no effect.
TEST(HealthRunsTest, AGeneratorOfIdenticalImagesIsReported) {
  const TempDir folder;
  RunConfig config = SmallConfig("mlp", folder.path());
  OptimizerConfig& optimizer = *config.mutable_generator()->mutable_optimizer();
  optimizer.mutable_sgd()->set_learning_rate(1);
  optimizer.mutable_sgd()->set_weight_decay(1);
  const HealthRun run = RunWatched(config);
  EXPECT_OK(run.status);
  EXPECT_THAT(run.warnings, Contains(HasSubstr("have been alike")));
}

}  // namespace
}  // namespace gandem
