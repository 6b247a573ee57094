// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/profile_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::ProfileBuilder;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProfileProbesTest, AutoSelectsTheFastestProbe) {
  Profile profile = ProfileBuilder().Build();
  for (Probe& probe : *profile.mutable_probes()) {
    probe.mutable_round()->set_median_seconds(1);
  }
  Probe& fast = *profile.add_probes();
  fast = profile.probes(0);
  fast.mutable_settings()->set_precision(RoleConfig::BFLOAT16);
  fast.mutable_settings()->set_layout(CHANNELS_LAST);
  fast.mutable_round()->set_median_seconds(0.125);
  Probe& faster = *profile.add_probes();
  faster = fast;
  faster.mutable_settings()->set_precision(RoleConfig::FLOAT64);
  faster.mutable_round()->set_median_seconds(0.0625);
  ASSERT_OK_AND_ASSIGN(
      const RoleSettings chosen,
      Resolve(profile, {.role = profile.probes(0).settings().role(),
                        .precision = RoleConfig::AUTO,
                        .layout = MemoryLayout::AUTO,
                        .threads = 1}));
  EXPECT_EQ(chosen.precision, RoleConfig::BFLOAT16);
  EXPECT_EQ(chosen.layout, CHANNELS_LAST);
}

TEST(ProfileProbesTest, SubstituteProbesAreOrderedBySimilarity) {
  const RoleSettings wanted = {
      .role = DISCRIMINATOR, .threads = 2, .feedback = ScheduleConfig::FUSED};
  RoleSettings mode = wanted;
  mode.feedback = ScheduleConfig::SNAPSHOT;
  RoleSettings threads = wanted;
  threads.threads = 1;
  RoleSettings both = mode;
  both.threads = 1;
  RoleSettings kernels = wanted;
  kernels.layout = CHANNELS_LAST;
  RoleSettings role = wanted;
  role.role = GENERATOR;
  Profile profile;
  for (const RoleSettings& settings :
       {kernels, role, both, threads, mode, wanted, mode}) {
    Probe& probe = *profile.add_probes();
    ProbeSettings& probed = *probe.mutable_settings();
    probed.set_role(settings.role);
    probed.set_layout(settings.layout);
    probed.set_threads(settings.threads);
    probed.set_feedback(settings.feedback);
    probe.set_outcome(Probe::MEASURED);
  }
  EXPECT_THAT(OthersOf(profile, wanted),
              ElementsAre(mode, threads, both, kernels));
  profile.mutable_probes(0)->set_outcome(Probe::DIED);
  EXPECT_THAT(OthersOf(profile, wanted), ElementsAre(mode, threads, both));
  // Probes on a GPU have no number of threads.
  RoleSettings any = wanted;
  any.threads = 0;
  EXPECT_THAT(OthersOf(profile, any), ElementsAre(both, mode));
}

TEST(ProfileProbesTest, ImpossibleNumbersAreNamed) {
  Profile profile = ProfileBuilder().Build();
  EXPECT_OK(CheckProfile(profile));
  profile.mutable_probes(1)->mutable_operations(0)->set_median_seconds(-1);
  profile.mutable_probes(1)->mutable_device_memory()->set_peak_bytes(-2);
  profile.mutable_transfers(0)->set_bytes_per_second(0);
  EXPECT_THAT(
      CheckProfile(profile),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("probes[1].operations[0].median_seconds -1"),
                     HasSubstr("probes[1].device_memory.peak_bytes -2"),
                     HasSubstr("transfers[0].bytes_per_second 0"))));
  profile = ProfileBuilder().Build();
  profile.mutable_probes(0)->mutable_round()->set_median_seconds(NAN);
  EXPECT_FALSE(CheckProfile(profile).ok());
}

}  // namespace
}  // namespace gandem
