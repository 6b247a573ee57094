// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/known_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

RunConfig SmokeRecipe() {
  const auto config =
      LoadRunConfig(absl::StrCat(std::getenv("GANDEM_SOURCE_DIR"),
                                 "/recipes/mlp_smoke.textproto"),
                    {});
  EXPECT_OK(config);
  return EffectiveConfig(*config);
}

ProbeSettings Asked() {
  return ProbeList(SmokeRecipe(), /*cores=*/2).front().together.front();
}

Probe ProbeOf(const ProbeSettings& settings, Probe::Outcome outcome) {
  Probe probe;
  *probe.mutable_settings() = settings;
  probe.set_outcome(outcome);
  return probe;
}

TEST(KnownProbesTest, APrecisionThatWasFarTooSlowIsHopeless) {
  ProbeSettings settings = Asked();
  settings.set_precision(RoleConfig::FLOAT32);
  Profile profile;
  *profile.add_probes() = ProbeOf(settings, Probe::MEASURED);
  profile.mutable_probes(0)->mutable_round()->set_median_seconds(2);
  settings.set_precision(RoleConfig::BFLOAT16);
  *profile.add_probes() = ProbeOf(settings, Probe::MEASURED);
  OperationTime& narrow = *profile.mutable_probes(1)->mutable_round();
  settings.set_threads(2);
  narrow.set_median_seconds(50);
  EXPECT_THAT(WhyHopeless(profile, settings),
              HasSubstr("BFLOAT16 took 25 times as long as FLOAT32"));
  narrow.set_median_seconds(5);
  EXPECT_EQ(WhyHopeless(profile, settings), "");
}

TEST(KnownProbesTest, APrecisionThatDidNotComeToItsEndIsHopeless) {
  ProbeSettings settings = Asked();
  settings.set_precision(RoleConfig::BFLOAT16);
  Profile profile;
  *profile.add_probes() = ProbeOf(settings, Probe::TIMED_OUT);
  settings.set_threads(2);
  EXPECT_THAT(WhyHopeless(profile, settings), HasSubstr("TIMED_OUT"));
  settings.set_batch_size(settings.batch_size() / 2);
  EXPECT_EQ(WhyHopeless(profile, settings), "");
  // FLOAT32 with more threads may be fast enough.
  settings = profile.probes(0).settings();
  settings.set_precision(RoleConfig::FLOAT32);
  profile.mutable_probes(0)->mutable_settings()->set_precision(
      RoleConfig::FLOAT32);
  settings.set_threads(2);
  EXPECT_EQ(WhyHopeless(profile, settings), "");
}

TEST(KnownProbesTest, APrecisionThatNoProbeHadMayBeAsSlowAsAPlanWouldBear) {
  ProbeSettings settings = Asked();
  settings.set_batch_size(32);
  Profile profile;
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 0);
  EXPECT_FALSE(IsNewPrecision(profile, settings));
  *profile.add_probes() = ProbeOf(settings, Probe::MEASURED);
  profile.mutable_probes(0)->mutable_round()->set_median_seconds(2);
  settings.set_batch_size(64);
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 4);
  settings.set_precision(RoleConfig::BFLOAT16);
  EXPECT_TRUE(IsNewPrecision(profile, settings));
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 4 * kHopelesslySlow);
  *profile.add_probes() = ProbeOf(settings, Probe::MEASURED);
  profile.mutable_probes(1)->mutable_round()->set_median_seconds(3);
  EXPECT_FALSE(IsNewPrecision(profile, settings));
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 3);
}

TEST(KnownProbesTest, ALargerBatchThanOneThatDidNotFitIsHopeless) {
  ProbeSettings settings = Asked();
  settings.set_batch_size(32);
  Profile profile;
  *profile.add_probes() = ProbeOf(settings, Probe::OUT_OF_MEMORY);
  EXPECT_NE(FindProbe(profile, settings), nullptr);
  settings.set_batch_size(64);
  settings.set_threads(2);
  EXPECT_EQ(FindProbe(profile, settings), nullptr);
  EXPECT_THAT(WhyHopeless(profile, settings),
              AllOf(HasSubstr("batch 32"), HasSubstr("OUT_OF_MEMORY")));
  settings.set_batch_size(16);
  EXPECT_THAT(WhyHopeless(profile, settings), IsEmpty());
  settings.set_batch_size(64);
  settings.set_role(DISCRIMINATOR);
  EXPECT_THAT(WhyHopeless(profile, settings), IsEmpty());
}

TEST(KnownProbesTest, OpenIsWhatIsNeitherAnsweredNorHopeless) {
  const std::vector<ProbeQuestion> all = ProbeList(SmokeRecipe(), /*cores=*/2);
  Profile profile;
  EXPECT_EQ(OpenQuestions(profile, all).size(), all.size());
  const ProbeSettings& first = all.front().together.front();
  *profile.add_probes() = ProbeOf(first, Probe::OUT_OF_MEMORY);
  const std::vector<ProbeQuestion> open = OpenQuestions(profile, all);
  EXPECT_LT(open.size(), all.size() - 1);  // larger batches are hopeless
  for (const ProbeQuestion& question : open) {
    const ProbeSettings& settings = question.together.front();
    EXPECT_NE(ToString(settings), ToString(first));
    EXPECT_THAT(WhyHopeless(profile, settings), IsEmpty());
  }
  for (const ProbeQuestion& question : all) {
    for (const ProbeSettings& settings : question.together) {
      *profile.add_probes() = ProbeOf(settings, Probe::MEASURED);
    }
  }
  EXPECT_THAT(OpenQuestions(profile, all), IsEmpty());
}

TEST(KnownProbesTest, TheNearestBatchTellsHowLongAnotherTakes) {
  ProbeSettings settings = Asked();
  Profile profile;
  EXPECT_EQ(NearestMeasured(profile, settings), nullptr);
  for (const int batch : {8, 32}) {
    settings.set_batch_size(batch);
    *profile.add_probes() = ProbeOf(settings, Probe::MEASURED);
  }
  settings.set_batch_size(64);
  ASSERT_NE(NearestMeasured(profile, settings), nullptr);
  EXPECT_EQ(NearestMeasured(profile, settings)->settings().batch_size(), 32);
  settings.set_batch_size(4);
  EXPECT_EQ(NearestMeasured(profile, settings)->settings().batch_size(), 8);
  settings.set_role(DISCRIMINATOR);
  EXPECT_EQ(NearestMeasured(profile, settings), nullptr);
}

TEST(KnownProbesTest, OfTheSameBatchTheSlowestOfThePrecisionTells) {
  ProbeSettings settings = Asked();
  Profile profile;
  const auto add = [&](RoleConfig::Precision precision, int threads,
                       double seconds) {
    Probe probe = ProbeOf(settings, Probe::MEASURED);
    probe.mutable_settings()->set_precision(precision);
    probe.mutable_settings()->set_threads(threads);
    probe.mutable_round()->set_median_seconds(seconds);
    *profile.add_probes() = probe;
  };
  add(RoleConfig::FLOAT32, 2, 1);
  add(RoleConfig::FLOAT32, 1, 2);
  add(RoleConfig::BFLOAT16, 1, 9);
  const auto seconds = [&] {
    return NearestMeasured(profile, settings)->round().median_seconds();
  };
  settings.set_precision(RoleConfig::FLOAT32);
  EXPECT_EQ(seconds(), 2);
  settings.set_batch_size(4 * settings.batch_size());
  EXPECT_EQ(seconds(), 2);
  settings.set_precision(RoleConfig::FLOAT16);  // there is none
  EXPECT_EQ(seconds(), 9);
  settings.set_role(COLOCATED);
  EXPECT_EQ(seconds(), 9);
}

}  // namespace
}  // namespace gandem
