// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/scaling/scaling_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::HostsOf;
using ::gandem::testing::PlacementOf;
using ::gandem::testing::PlannedConfig;
using ::gandem::testing::ProfileBuilder;
using ::gandem::testing::StatusIs;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns a plan of one generator and one discriminator on one host.
Plan PairPlan(const std::vector<std::string>& sets = {}) {
  Plan plan;
  Candidate& candidate = *plan.add_candidates();
  candidate.set_name("1 G + 1 D");
  *candidate.mutable_config() = PlannedConfig(sets);
  *candidate.mutable_placement() = PlacementOf({"G a", "D a"});
  *plan.mutable_machines() = HostsOf(1, 2);
  plan.mutable_machines()->mutable_link()->set_bytes_per_second(1e10);
  plan.mutable_machines()->mutable_link()->set_latency_seconds(1e-5);
  return plan;
}

ProfileBuilder Builder() {
  ProfileBuilder builder;
  builder.Transfer(TransferProfile::EXCHANGE_SOCKET, 1e-5, 1e10)
      .Transfer(TransferProfile::COLLECTIVE_MEMORY, 1e-5, 1e10);
  return builder;
}

TEST(ParseDevicesTest, RangesContainPowersOfTwo) {
  EXPECT_THAT(*ParseDevices("1..8"), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(*ParseDevices("3..10"), ElementsAre(3, 6, 10));
  EXPECT_THAT(*ParseDevices("64,8,8"), ElementsAre(8, 64));
  EXPECT_THAT(*ParseDevices("5,1..2"), ElementsAre(1, 2, 5));
  EXPECT_THAT(*ParseDevices("7..7"), ElementsAre(7));
}

TEST(ParseDevicesTest, ErrorsNameTheInvalidNumber) {
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(ParseDevices("1..x"),
              StatusIs(kInvalid, HasSubstr("'x' is not a number from 1 to")));
  EXPECT_THAT(ParseDevices("0"), StatusIs(kInvalid, HasSubstr("'0'")));
  EXPECT_THAT(ParseDevices(""), StatusIs(kInvalid, HasSubstr("''")));
  EXPECT_THAT(ParseDevices("99999"), StatusIs(kInvalid, HasSubstr("16384")));
  EXPECT_THAT(ParseDevices("8..4"),
              StatusIs(kInvalid, HasSubstr("8 is above 4")));
  EXPECT_THAT(ParseDevices("1..2..4"),
              StatusIs(kInvalid, HasSubstr("is not a range")));
}

TEST(ScalePlanTest, ProportionsAndHostsAreKept) {
  Plan plan = PairPlan({"discriminator.workers=2"});
  *plan.mutable_candidates(0)->mutable_placement() =
      PlacementOf({"G a", "D a", "D a"});
  ASSERT_OK_AND_ASSIGN(
      const ScaledPlan scaled,
      ScalePlan(plan.candidates(0), plan.machines(), 12, Scaling::kWeak));
  EXPECT_EQ(scaled.generators, 4);
  EXPECT_EQ(scaled.discriminators, 8);
  EXPECT_EQ(scaled.config.discriminator().batch_size(), 256);
  EXPECT_EQ(scaled.config.generator().batch_size(), 256);
  ASSERT_THAT(scaled.machines.hosts(), SizeIs(4));
  ASSERT_THAT(scaled.placement.workers(), SizeIs(12));
  for (int host = 0; host < 4; ++host) {
    int generators = 0;
    for (int i = 3 * host; i < 3 * host + 3; ++i) {
      const PlacedWorker& worker = scaled.placement.workers(i);
      EXPECT_EQ(worker.host(), "host" + std::to_string(host + 1));
      generators += worker.role() == GENERATOR ? 1 : 0;
    }
    EXPECT_EQ(generators, 1);
  }
}

// Each worker of the plan is alone on its host and uses all of its threads.
TEST(ScalePlanTest, ThreadsAreLimitedToTheHostsCores) {
  Plan plan = PairPlan({"discriminator.workers=2"});
  *plan.mutable_candidates(0)->mutable_placement() =
      PlacementOf({"D b", "G a", "D a"});
  *plan.mutable_machines() = HostsOf(2, 2);
  const int before[] = {2, 1, 1};
  for (int i = 0; i < 3; ++i) {
    plan.mutable_candidates(0)
        ->mutable_placement()
        ->mutable_workers(i)
        ->set_threads(before[i]);
  }
  ASSERT_OK_AND_ASSIGN(
      const ScaledPlan scaled,
      ScalePlan(plan.candidates(0), plan.machines(), 6, Scaling::kWeak));
  std::map<std::string, int> threads;
  for (const PlacedWorker& worker : scaled.placement.workers()) {
    EXPECT_GE(worker.threads(), 1);
    threads[worker.host()] += worker.threads();
  }
  for (const Host& host : scaled.machines.hosts()) {
    EXPECT_EQ(threads[host.name()], host.cores()) << host.name();
  }
}

TEST(ScalePlanTest, StrongScalingKeepsTheBatch) {
  const Plan plan = PairPlan();
  ASSERT_OK_AND_ASSIGN(
      const ScaledPlan scaled,
      ScalePlan(plan.candidates(0), plan.machines(), 16, Scaling::kStrong));
  EXPECT_EQ(scaled.config.discriminator().batch_size(), 64);
  EXPECT_THAT(
      ScalePlan(plan.candidates(0), plan.machines(), 256, Scaling::kStrong),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("batch_size 64 is less than its 128 workers")));
}

TEST(ScalePlanTest, OneDeviceIsColocated) {
  const Plan plan = PairPlan();
  ASSERT_OK_AND_ASSIGN(
      const ScaledPlan scaled,
      ScalePlan(plan.candidates(0), plan.machines(), 1, Scaling::kWeak));
  EXPECT_EQ(scaled.placement.workers(0).role(), COLOCATED);
  EXPECT_EQ(scaled.config.generator().batch_size(), 32);
}

TEST(StudyScalingTest, EfficiencyFallsWithTheSizeOfSums) {
  StudyOptions options = {.devices = {2, 4, 8, 16}};
  ASSERT_OK_AND_ASSIGN(
      const std::vector<ScalingRow> rows,
      StudyScaling(Builder().Build(), PairPlan(), Scaling::kWeak, options));
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_THAT(rows[0].efficiency, DoubleNear(1, 1e-12));
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_THAT(rows[i].why_not, IsEmpty());
    EXPECT_LE(rows[i].efficiency, rows[i - 1].efficiency * (1 + 1e-6));
    EXPECT_EQ(rows[i].batch, 32 * rows[i].devices);
  }
  EXPECT_GT(rows.back().efficiency, 0.9);
}

TEST(StudyScalingTest, ImpossibleRowsHaveAReason) {
  StudyOptions options = {.devices = {2, 256}};
  ASSERT_OK_AND_ASSIGN(
      const std::vector<ScalingRow> rows,
      StudyScaling(Builder().Build(), PairPlan(), Scaling::kStrong, options));
  EXPECT_THAT(rows[0].why_not, IsEmpty());
  EXPECT_THAT(rows[1].why_not, HasSubstr("is less than its 128 workers"));
  options.devices = {256};
  EXPECT_THAT(
      StudyScaling(Builder().Build(), PairPlan(), Scaling::kStrong, options),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("batch_size")));
  EXPECT_THAT(
      StudyScaling(Builder().Build(), Plan(), Scaling::kStrong, options),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("candidates is empty")));
}

// `gandem simulate` runs two such studies, weak and strong scaling, in 10 s.
TEST(StudyScalingTest, AThousandDevicesTakeSeconds) {
  const std::clock_t begin = std::clock();
  StudyOptions options = {.devices = *ParseDevices("1..1024"), .jitter = 0.05};
  ASSERT_OK_AND_ASSIGN(
      const std::vector<ScalingRow> rows,
      StudyScaling(Builder().Build(), PairPlan(), Scaling::kWeak, options));
  ASSERT_THAT(rows, SizeIs(11));
  EXPECT_THAT(rows.back().why_not, IsEmpty());
  // The limit is on CPU time because other processes use the processor too.
  // Sanitizers make the study several times slower.
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 60);
}

TEST(MeasuredJitterTest, JitterIsThatOfTheRounds) {
  Profile profile = Builder().Build();
  EXPECT_EQ(MeasuredJitter(profile), 0);
  OperationTime& round = *profile.mutable_probes(0)->mutable_round();
  round.set_median_seconds(2);
  round.set_repetitions(100);
  round.set_low_seconds(2 - 0.049);
  round.set_high_seconds(2 + 0.049);
  // Half of the interval is 1.96 * sqrt(pi / 2) * sigma / 10.
  EXPECT_THAT(MeasuredJitter(profile), DoubleNear(0.1 * 0.9974, 1e-4));
  // One disturbed probe does not raise the jitter of several quiet ones.
  const Probe quiet = profile.probes(0);
  Probe disturbed = quiet;
  disturbed.mutable_round()->set_high_seconds(40);
  profile.clear_probes();
  *profile.add_probes() = disturbed;
  *profile.add_probes() = quiet;
  *profile.add_probes() = quiet;
  EXPECT_THAT(MeasuredJitter(profile), DoubleNear(0.1 * 0.9974, 1e-4));
}

}  // namespace
}  // namespace gandem
