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

// Returns the study's network with `beta1` and `more` in both roles.
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

TEST(QualityTest, TheBestSynchronousSettingHasTheFactorOne) {
  const ImagesNeeded needed = PredictImagesNeeded(StudyConfig(0, 0));
  EXPECT_NEAR(needed.factor, 1, 1e-9);
  EXPECT_LT(needed.low, 1);
  EXPECT_GT(needed.high, 1);
}

// The factors measured in docs/quality.md. The tolerances allow the deviation
// of 8 % of settings that are not in the fit.
TEST(QualityTest, TheFactorsMatchTheStudy) {
  EXPECT_NEAR(FactorOf(StudyConfig(1, 0)), 1.05, 0.08);
  EXPECT_NEAR(FactorOf(StudyConfig(1, 0.5)), 1.30, 0.10);
  EXPECT_NEAR(FactorOf(StudyConfig(1, 0.5, "optimism: 1")), 1.01, 0.08);
  EXPECT_NEAR(FactorOf(StudyConfig(4, 0.5, "optimism: 2")), 1.18, 0.08);
  EXPECT_NEAR(FactorOf(StudyConfig(8, 0.5, "optimism: 4.5")), 1.6, 0.15);
  EXPECT_GT(FactorOf(StudyConfig(4, 0.5)), 1.5);
}

// L - a_G - a_D / R + m_G + m_D / R, and the mean of (1 + a)^2 + a^2 - 1.
TEST(QualityTest, TheLawUsesTheRemainingLagAndItsNoise) {
  const RunConfig plain = StudyConfig(3, 0);
  EXPECT_EQ(QualitySettingOf(plain).Excess(), 3);
  EXPECT_EQ(QualitySettingOf(plain).Noise(), 0);
  RunConfig config = StudyConfig(3, 0.5, "optimism: 1");
  EXPECT_EQ(QualitySettingOf(config).Excess(), 3 - 1 - 1 + 1 + 1);
  EXPECT_EQ(QualitySettingOf(config).Noise(), 4);
  config.mutable_schedule()->set_discriminator_steps_per_round(2);
  EXPECT_EQ(QualitySettingOf(config).Excess(), 3 - 1 - 0.5 + 1 + 0.5);
  EXPECT_EQ(QualitySettingOf(StudyConfig(1, 0, "optimism: 4")).Excess(), 0);
}

TEST(QualityTest, OptimismMatchedToTheLagIsBetterThanNone) {
  for (const int lag : {2, 3, 4}) {
    const double matched =
        FactorOf(StudyConfig(lag, 0, "optimism_rule: LAG_MATCHED"));
    EXPECT_LT(matched, FactorOf(StudyConfig(lag, 0))) << lag;
    EXPECT_GT(matched, 1) << lag;
  }
}

TEST(QualityTest, TheBatchFactorUsesTheNoiseScaleOfTheMoreDemandingRole) {
  RunConfig config = StudyConfig(0, 0);
  config.mutable_generator()->set_batch_size(256);
  config.mutable_discriminator()->set_batch_size(256);
  const NoiseScale generator = {.images = 1000, .low = 500, .high = 2000};
  const NoiseScale discriminator = {.images = 128, .low = 64, .high = 256};
  const ImagesNeeded base = PredictImagesNeeded(StudyConfig(0, 0));
  const ImagesNeeded needed = PredictImagesNeeded(
      config, {.generator = generator, .discriminator = discriminator});
  // (1 + 256 / 128) / (1 + 64 / 128)
  EXPECT_NEAR(needed.factor, 2, 1e-9);
  EXPECT_NEAR(needed.low / base.low, 512.0 / 320, 1e-9);
  EXPECT_NEAR(needed.high / base.high, 320.0 / 128, 1e-9);
  EXPECT_THAT(needed.why, HasSubstr("gradient noise scale 128"));
}

TEST(QualityTest, WithoutANoiseScaleTheBatchFactorIsAWideRange) {
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

}  // namespace
}  // namespace gandem
