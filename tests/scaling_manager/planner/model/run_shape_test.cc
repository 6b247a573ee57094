// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/run_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::HostsOf;
using ::gandem::testing::PlacementOf;
using ::gandem::testing::PlannedConfig;
using ::gandem::testing::ProfileBuilder;
using ::testing::DoubleNear;

constexpr int64_t kImages = 64;

double RoundSeconds(const Profile& profile, Role role,
                    const ProbeSettings& settings) {
  const absl::StatusOr<RoleCosts> costs =
      RoleCosts::Create(profile, {.role = role, .threads = 1});
  return costs.ok() ? ProbedRoundSeconds(role, settings, *costs) : 0;
}

// Adds a generator in BFLOAT16 that takes half the time.
void AddFasterGenerator(Profile& profile) {
  for (int i = profile.probes_size() - 1; i >= 0; --i) {
    if (profile.probes(i).settings().role() != GENERATOR) continue;
    Probe& probe = *profile.add_probes();
    probe = profile.probes(i);
    probe.mutable_settings()->set_precision(RoleConfig::BFLOAT16);
    for (OperationTime& time : *probe.mutable_operations()) {
      time.set_median_seconds(time.median_seconds() / 2);
    }
  }
}

// Adds a probe of both roles in one process, in FLOAT32. The round takes
// `factor` times as long as the rounds of two processes together.
void AddColocatedProbe(double factor, Profile& profile) {
  Probe probe;
  ProbeSettings& settings = *probe.mutable_settings();
  settings.set_role(COLOCATED);
  settings.set_batch_size(kImages);
  settings.set_threads(1);
  probe.set_outcome(Probe::MEASURED);
  probe.mutable_round()->set_operation(OperationTime::ROUND);
  probe.mutable_round()->set_median_seconds(
      factor * (RoundSeconds(profile, GENERATOR, settings) +
                RoundSeconds(profile, DISCRIMINATOR, settings)));
  *profile.add_probes() = std::move(probe);
}

TEST(RunShapeTest, ColocatedProbesScaleTheirOwnPrecision) {
  Profile profile = ProfileBuilder().Build();
  AddFasterGenerator(profile);
  const auto forward_seconds = [&](const std::vector<std::string>& sets) {
    const absl::StatusOr<RunShape> shape = MakeRunShape(
        profile, HostsOf(1, 4), PlannedConfig(sets), PlacementOf({"C a"}));
    EXPECT_OK(shape);
    return shape.ok()
               ? shape->generator.times.Of(OperationTime::FORWARD, kImages)
                     .alone
               : 0;
  };
  const std::vector<std::string> full = {"generator.precision=FLOAT32",
                                         "discriminator.precision=FLOAT32"};
  const std::vector<std::string> half = {"generator.precision=BFLOAT16",
                                         "discriminator.precision=FLOAT32"};
  const double full_apart = forward_seconds(full);
  const double half_apart = forward_seconds(half);
  ASSERT_THAT(half_apart, DoubleNear(full_apart / 2, 1e-12));
  AddColocatedProbe(1.25, profile);
  EXPECT_THAT(forward_seconds(full), DoubleNear(1.25 * full_apart, 1e-12));
  // The probe's factor applies although it used the slower generator.
  EXPECT_THAT(forward_seconds(half), DoubleNear(1.25 * half_apart, 1e-12));
}

}  // namespace
}  // namespace gandem
