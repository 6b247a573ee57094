// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/quality/quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/text_proto.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The study's network with `beta1` and `more` in both roles.
RunConfig StudyConfig(int lag, double beta1,
                      const std::string& optimizer = "") {
  const std::string role = absl::StrCat(
      "{ network { sndcgan { width: 16 } } batch_size: 64 optimizer { adam { "
      "beta1: ",
      beta1, " } ", optimizer, " } }");
  RunConfig config;
  EXPECT_OK(ParseTextProto(
      absl::StrCat("rounds: 10 schedule { lag: ", lag, " } generator ", role,
                   " discriminator ", role),
      "study", config));
  return config;
}

double FactorOf(const RunConfig& config) {
  return PredictImagesNeeded(config).factor;
}

TEST(QualityTest, TheBestSynchronousSettingIsOne) {
  const ImagesNeeded needed = PredictImagesNeeded(StudyConfig(0, 0));
  EXPECT_NEAR(needed.factor, 1, 1e-9);
  EXPECT_LT(needed.low, 1);
  EXPECT_GT(needed.high, 1);
}

// What was measured: docs/quality.md.
TEST(QualityTest, FollowsTheStudy) {
  EXPECT_NEAR(FactorOf(StudyConfig(1, 0)), 1.05, 0.03);
  EXPECT_NEAR(FactorOf(StudyConfig(1, 0.5)), 1.30, 0.06);
  EXPECT_NEAR(FactorOf(StudyConfig(1, 0.5, "optimism: 1")), 1.01, 0.03);
  EXPECT_NEAR(FactorOf(StudyConfig(4, 0.5, "optimism: 2")), 1.18, 0.05);
  EXPECT_NEAR(FactorOf(StudyConfig(8, 0.5, "optimism: 4.5")), 1.6, 0.15);
  EXPECT_GT(FactorOf(StudyConfig(4, 0.5)), 1.5);
}

TEST(QualityTest, OptimismByTheLagIsBetterThanNoneAndNoMiracle) {
  for (const int lag : {2, 3, 4}) {
    const double matched =
        FactorOf(StudyConfig(lag, 0, "optimism_rule: LAG_MATCHED"));
    EXPECT_LT(matched, FactorOf(StudyConfig(lag, 0))) << lag;
    EXPECT_GT(matched, 1) << lag;
  }
}

TEST(QualityTest, WhatIsInTheStudyIsKnownBetter) {
  const ImagesNeeded measured =
      PredictImagesNeeded(StudyConfig(1, 0.5, "optimism: 1"));
  const ImagesNeeded other =
      PredictImagesNeeded(StudyConfig(1, 0.4, "optimism: 1"));
  EXPECT_LT(measured.high / measured.low, other.high / other.low);
  EXPECT_THAT(other.why, Not(HasSubstr("not in the study")));
}

TEST(QualityTest, WhatIsUnknownIsSaidAndWidensTheInterval) {
  const auto width = [](const RunConfig& config) {
    const ImagesNeeded needed = PredictImagesNeeded(config);
    return std::log(needed.high / needed.low);
  };
  RunConfig config = StudyConfig(1, 0.4);
  const double known = width(config);
  config.mutable_discriminator()->mutable_network()->mutable_dcgan();
  EXPECT_NEAR(width(config), 2 * known, 1e-9);
  EXPECT_THAT(PredictImagesNeeded(config).why,
              HasSubstr("not in the study, so the interval is wide: another "
                        "network than SN-DCGAN"));
  config.mutable_schedule()->set_consistency(ScheduleConfig::BOUNDED);
  EXPECT_NEAR(width(config), 4 * known, 1e-9);
  config.mutable_schedule()->set_lag(20);
  config.mutable_generator()->mutable_optimizer()->mutable_lion();
  EXPECT_NEAR(width(config), 8 * known, 1e-9);  // of three unknowns or more
  EXPECT_THAT(PredictImagesNeeded(config).why, HasSubstr("a lag above 8"));
}

TEST(QualityTest, ABatchByTheNoiseScaleOfTheRoleThatNeedsMore) {
  RunConfig config = StudyConfig(0, 0);
  config.mutable_generator()->set_batch_size(256);
  config.mutable_discriminator()->set_batch_size(256);
  const NoiseScale generator = {.images = 1000, .low = 500, .high = 2000};
  const NoiseScale discriminator = {.images = 128, .low = 64, .high = 256};
  const ImagesNeeded base = PredictImagesNeeded(StudyConfig(0, 0));
  const ImagesNeeded needed = PredictImagesNeeded(
      config,
      {.generator_noise = generator, .discriminator_noise = discriminator});
  // (1 + 256 / 128) / (1 + 64 / 128)
  EXPECT_NEAR(needed.factor, 2, 1e-9);
  EXPECT_NEAR(needed.low / base.low, 512.0 / 320, 1e-9);
  EXPECT_NEAR(needed.high / base.high, 320.0 / 128, 1e-9);
  EXPECT_THAT(needed.why, HasSubstr("gradient noise scale 128"));
}

TEST(QualityTest, ABatchWithoutANoiseScaleIsAnythingBetweenNothingAndAll) {
  RunConfig config = StudyConfig(0, 0);
  config.mutable_discriminator()->set_batch_size(256);
  const ImagesNeeded base = PredictImagesNeeded(StudyConfig(0, 0));
  const ImagesNeeded larger = PredictImagesNeeded(config);
  EXPECT_NEAR(larger.factor, 2, 1e-9);
  EXPECT_NEAR(larger.low, base.low, 1e-9);
  EXPECT_NEAR(larger.high, 4 * base.high, 1e-9);
  EXPECT_THAT(larger.why, HasSubstr("noise scale not measured"));
  config.mutable_generator()->set_batch_size(16);
  config.mutable_discriminator()->set_batch_size(16);
  const ImagesNeeded smaller = PredictImagesNeeded(config);
  EXPECT_NEAR(smaller.low, base.low / 4, 1e-9);
  EXPECT_NEAR(smaller.high, base.high, 1e-9);
}

TEST(QualityTest, TrialsOfTheSameSettingCount) {
  const RunConfig config = StudyConfig(3, 0, "optimism: 1");
  const ImagesNeeded before = PredictImagesNeeded(config);
  QualityEvidence evidence;
  evidence.trials.push_back(
      {.config = config, .log_factor = std::log(1.5), .sd = 0.01});
  const ImagesNeeded after = PredictImagesNeeded(config, evidence);
  EXPECT_NEAR(after.factor, 1.5, 0.02);
  EXPECT_LT(after.high / after.low, before.high / before.low);
  EXPECT_THAT(after.why, HasSubstr("measured in trials"));
  // Of another setting: nothing.
  const RunConfig other = StudyConfig(2, 0, "optimism: 1");
  EXPECT_DOUBLE_EQ(PredictImagesNeeded(other, evidence).factor,
                   FactorOf(other));
}

}  // namespace
}  // namespace gandem
