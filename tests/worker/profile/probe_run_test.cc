// SPDX-License-Identifier: Apache-2.0
//
// The real roles with an exchange that takes no time.
#include "worker/profile/probe_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/worker/profile/probed.h"

namespace gandem {
namespace {

using gandem::testing::Factories;
using gandem::testing::ProbedConfig;
using gandem::testing::StatusIs;
using gandem::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

using Operations = std::set<OperationTime::Operation>;

Operations OperationsOf(const Probe& probe) {
  Operations operations;
  for (const OperationTime& time : probe.operations()) {
    EXPECT_GE(time.median_seconds(), 0) << time.DebugString();
    EXPECT_LE(time.low_seconds(), time.median_seconds()) << time.DebugString();
    EXPECT_GE(time.high_seconds(), time.median_seconds()) << time.DebugString();
    EXPECT_GE(time.repetitions(), 1) << time.DebugString();
    EXPECT_TRUE(operations.insert(time.operation()).second)
        << time.DebugString();
  }
  return operations;
}

Operations WantedOperations(Role role, ScheduleConfig::FeedbackMode feedback) {
  using Time = OperationTime;
  const bool snapshot = feedback == ScheduleConfig::SNAPSHOT;
  Operations wanted = {Time::UPDATE};
  if (role != DISCRIMINATOR) {
    wanted.insert({Time::FORWARD, Time::BACKWARD});
    if (snapshot) wanted.insert({Time::JUDGE, Time::LOAD_CRITIC});
  }
  if (role != GENERATOR) {
    wanted.insert({Time::REAL, Time::GENERATED});
    if (snapshot) wanted.insert(Time::CAPTURE_CRITIC);
    if (feedback == ScheduleConfig::IMAGE_GRADIENT) wanted.insert(Time::ANSWER);
  }
  return wanted;
}

using ProbeCell = std::tuple<Role, ScheduleConfig::FeedbackMode>;

class ProbeRunTest : public ::testing::TestWithParam<ProbeCell> {
 protected:
  const TempDir folder_;
};

TEST_P(ProbeRunTest, TheOperationsOfTheRoleAreMeasured) {
  const auto [role, feedback] = GetParam();
  ASSERT_OK_AND_ASSIGN(
      const auto run, ProbeRun::Create(role, Factories(),
                                       ProbedConfig(folder_.path(), feedback)));
  ASSERT_OK_AND_ASSIGN(const double warm_up_seconds, run->WarmUp());
  EXPECT_GT(warm_up_seconds, 0);
  ASSERT_OK_AND_ASSIGN(const Probe probe, run->Measure(absl::Milliseconds(200),
                                                       /*until_settled=*/true));
  EXPECT_EQ(probe.outcome(), Probe::MEASURED);
  EXPECT_EQ(OperationsOf(probe), WantedOperations(role, feedback));
  EXPECT_EQ(probe.round().operation(), OperationTime::ROUND);
  EXPECT_GT(probe.round().median_seconds(), 0);
  EXPECT_GE(probe.round().repetitions(), 1);
  EXPECT_GT(probe.resting_bytes(), 0);
  EXPECT_GE(probe.peak_bytes(), probe.resting_bytes());
  EXPECT_FALSE(probe.has_device_memory());
  for (const Role played : {GENERATOR, DISCRIMINATOR}) {
    EXPECT_EQ(run->Plays(played), role == COLOCATED || role == played);
    if (!run->Plays(played)) continue;
    const StateSize state = run->StateOf(played);
    // Layers of 5 x 12 and 12 x 64, and of 64 x 12 and 12 x 1, with biases.
    const int64_t parameters = played == GENERATOR ? 904 : 793;
    EXPECT_EQ(state.parameter_bytes(), 4 * parameters);
    EXPECT_EQ(state.buffer_bytes(), 0);
    EXPECT_EQ(state.optimizer_bytes(), 2 * 4 * parameters + 8);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grid, ProbeRunTest,
    ::testing::Combine(::testing::Values(GENERATOR, DISCRIMINATOR, COLOCATED),
                       ::testing::Values(ScheduleConfig::SNAPSHOT,
                                         ScheduleConfig::IMAGE_GRADIENT,
                                         ScheduleConfig::FUSED)),
    [](const ::testing::TestParamInfo<ProbeCell>& info) {
      return absl::StrCat(
          RoleName(std::get<0>(info.param)), "_",
          ScheduleConfig::FeedbackMode_Name(std::get<1>(info.param)));
    });

TEST(ProbeRunCasesTest, FreshImagesAreGeneratedInASeparateRound) {
  const TempDir folder;
  RunConfig config = ProbedConfig(folder.path(), ScheduleConfig::SNAPSHOT);
  config.mutable_schedule()->set_image_source(ScheduleConfig::FRESH);
  ASSERT_OK_AND_ASSIGN(const auto run,
                       ProbeRun::Create(GENERATOR, Factories(), config));
  ASSERT_OK(run->WarmUp());
  ASSERT_OK_AND_ASSIGN(const Probe probe,
                       run->Measure(absl::ZeroDuration(), true));
  EXPECT_THAT(OperationsOf(probe), IsSupersetOf({OperationTime::MAKE_IMAGES,
                                                 OperationTime::FORWARD}));
  EXPECT_EQ(probe.round().repetitions(), 1) << "no time is one round";
  EXPECT_FALSE(probe.is_settled());
}

// A pair in one process stops only between turns, each of which has two rounds
// at lag 1: the next measurement then begins in the same state.
TEST(ProbeRunCasesTest, APairIsMeasuredInWholeTurns) {
  const TempDir folder;
  int rounds = 0;  // of the discriminator
  RoleFactories factories = Factories();
  factories.discriminator = [&](const RunPlan& plan, RoleSetup setup,
                                DiscriminatorExchange* exchange) {
    setup.services.report =
        [&rounds, report = setup.services.report](const RoundMetrics& metrics) {
          ++rounds;
          report(metrics);
        };
    return DiscriminatorRoles()(plan, setup, exchange);
  };
  const RunConfig config =
      ProbedConfig(folder.path(), ScheduleConfig::SNAPSHOT);
  ASSERT_OK_AND_ASSIGN(const auto run,
                       ProbeRun::Create(COLOCATED, factories, config));
  ASSERT_OK(run->WarmUp());
  EXPECT_EQ(rounds % 2, 0);
  for (int i = 0; i < 3; ++i) {
    const int before = rounds;
    ASSERT_OK_AND_ASSIGN(const Probe probe,
                         run->Measure(absl::ZeroDuration(), false));
    EXPECT_EQ(rounds - before, 2) << "no time is one turn";
    EXPECT_EQ(probe.round().repetitions(), 1);
  }
}

// Penalties of every fourth step are part of every repetition.
TEST(ProbeRunCasesTest, LazyPenaltiesAreDistributedEvenly) {
  const TempDir folder;
  RunConfig config = ProbedConfig(folder.path(), ScheduleConfig::SNAPSHOT);
  config.mutable_penalties()->set_r1(1);
  config.mutable_penalties()->set_gradient_every_steps(4);
  ASSERT_OK_AND_ASSIGN(const auto run,
                       ProbeRun::Create(DISCRIMINATOR, Factories(), config));
  ASSERT_OK(run->WarmUp());
  ASSERT_OK_AND_ASSIGN(const Probe probe,
                       run->Measure(absl::Milliseconds(300), false));
  EXPECT_GE(probe.round().repetitions(), 1);
  for (const OperationTime& time : probe.operations()) {
    if (time.operation() != OperationTime::REAL) continue;
    EXPECT_EQ(time.repetitions(), probe.round().repetitions());
  }
}

TEST(ProbeRunCasesTest, AMissingDeviceIsReported) {
  const TempDir folder;
  RunConfig config = ProbedConfig(folder.path(), ScheduleConfig::SNAPSHOT);
  config.mutable_generator()->set_device("cuda:99");
  EXPECT_THAT(
      ProbeRun::Create(GENERATOR, Factories(), config),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cuda")));
}

}  // namespace
}  // namespace gandem
