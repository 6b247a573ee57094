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

TEST(KnownProbesTest, UnfinishedProbesAreHopelessWithAnyThreads) {
  ProbeSettings settings = Asked();
  settings.set_precision(RoleConfig::BFLOAT16);
  Profile profile;
  *profile.add_probes() = ProbeOf(settings, Probe::TIMED_OUT);
  settings.set_threads(2);
  EXPECT_TRUE(IsHopeless(profile, settings));
  settings.set_batch_size(settings.batch_size() / 2);
  EXPECT_FALSE(IsHopeless(profile, settings));
}

TEST(KnownProbesTest, SlowestProbeOfThePrecisionSetsTheEstimate) {
  ProbeSettings settings = Asked();
  settings.set_batch_size(32);
  Profile profile;
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 0);
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
  settings.set_batch_size(64);
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 4);
  settings.set_precision(RoleConfig::BFLOAT16);  // not measured
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 4);
  settings.set_batch_size(32);
  add(RoleConfig::BFLOAT16, 1, 9);
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 9);
  settings.set_precision(RoleConfig::FLOAT32);
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 2);
  // One process does the work of both roles.
  settings.set_role(COLOCATED);
  EXPECT_EQ(LikelyRoundSeconds(profile, settings), 4);
}

TEST(KnownProbesTest, BatchesAboveAFailedBatchAreHopeless) {
  ProbeSettings settings = Asked();
  settings.set_batch_size(32);
  Profile profile;
  *profile.add_probes() = ProbeOf(settings, Probe::OUT_OF_MEMORY);
  EXPECT_NE(FindProbe(profile, settings), nullptr);
  settings.set_batch_size(64);
  settings.set_threads(2);
  EXPECT_EQ(FindProbe(profile, settings), nullptr);
  EXPECT_TRUE(IsHopeless(profile, settings));
  settings.set_batch_size(16);
  EXPECT_FALSE(IsHopeless(profile, settings));
  settings.set_batch_size(64);
  settings.set_role(DISCRIMINATOR);
  EXPECT_FALSE(IsHopeless(profile, settings));
}

TEST(KnownProbesTest, OpenQuestionsAreNeitherAnsweredNorHopeless) {
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
    EXPECT_FALSE(IsHopeless(profile, settings));
  }
  for (const ProbeQuestion& question : all) {
    for (const ProbeSettings& settings : question.together) {
      *profile.add_probes() = ProbeOf(settings, Probe::MEASURED);
    }
  }
  EXPECT_THAT(OpenQuestions(profile, all), IsEmpty());
}

}  // namespace
}  // namespace gandem
