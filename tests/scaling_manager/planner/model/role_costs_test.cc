// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/role_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::EraseProbes;
using ::gandem::testing::kTick;
using ::gandem::testing::LeaveOneSize;
using ::gandem::testing::ProfileBuilder;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::HasSubstr;

TEST(RoleCostsTest, CostsDependOnTheFeedbackMode) {
  const Profile profile = ProfileBuilder().Build();
  RoleSettings settings = {.role = DISCRIMINATOR, .threads = 1};
  ASSERT_OK_AND_ASSIGN(const RoleCosts snapshot,
                       RoleCosts::Create(profile, settings));
  settings.feedback = ScheduleConfig::FUSED;
  ASSERT_OK_AND_ASSIGN(const RoleCosts fused,
                       RoleCosts::Create(profile, settings));
  EXPECT_THAT(snapshot.Of(OperationTime::GENERATED, 64).alone,
              DoubleEq(64 * 3000 * kTick));
  EXPECT_THAT(fused.Of(OperationTime::GENERATED, 64).alone,
              DoubleEq(64 * 4000 * kTick));
}

TEST(RoleCostsTest, MicroBatchesCostTheirShareOfTheStep) {
  constexpr double kSecondsAnImage = 3000 * kTick;
  Profile profile;
  // One probe has four passes of 16 images, the other has passes of 4 and 2.
  for (const auto& [batch, micro_batch] :
       {std::pair(64, 16), std::pair(6, 4)}) {
    Probe& probe = *profile.add_probes();
    ProbeSettings& settings = *probe.mutable_settings();
    settings.set_role(DISCRIMINATOR);
    settings.set_threads(1);
    settings.set_batch_size(batch);
    settings.set_micro_batch(micro_batch);
    probe.set_outcome(Probe::MEASURED);
    for (const auto& [operation, seconds] :
         {std::pair(OperationTime::REAL, batch * kSecondsAnImage),
          std::pair(OperationTime::GENERATED, batch * kSecondsAnImage),
          std::pair(OperationTime::UPDATE, 0.5)}) {
      OperationTime& time = *probe.add_operations();
      time.set_operation(operation);
      time.set_median_seconds(seconds);
    }
  }
  ASSERT_OK_AND_ASSIGN(
      const RoleCosts times,
      RoleCosts::Create(profile, {.role = DISCRIMINATOR, .threads = 1}));
  for (const int64_t images : {3, 10, 16, 64}) {
    EXPECT_THAT(times.Of(OperationTime::REAL, images).alone,
                DoubleEq(static_cast<double>(images) * kSecondsAnImage))
        << images;
  }
  EXPECT_THAT(times.Of(OperationTime::UPDATE, 1).alone, DoubleEq(0.5));
  for (const Probe& probe : profile.probes()) {
    const auto images = static_cast<double>(probe.settings().batch_size());
    EXPECT_THAT(ProbedRoundSeconds(DISCRIMINATOR, probe.settings(), times),
                DoubleEq(2 * images * kSecondsAnImage + 0.5));
  }
}

// A step of 64 images takes 0.3 s longer in four passes than in one.
TEST(RoleCostsTest, CutsAreMeasured) {
  Profile profile = ProfileBuilder().Build();
  Probe cut;
  for (Probe& probe : *profile.mutable_probes()) {
    const ProbeSettings& settings = probe.settings();
    if (settings.role() != DISCRIMINATOR ||
        settings.feedback() != ScheduleConfig::FUSED) {
      continue;
    }
    const double images = static_cast<double>(settings.batch_size());
    probe.mutable_round()->set_median_seconds(images * 7000 * kTick);
    if (settings.batch_size() == 64) cut = probe;
  }
  ASSERT_EQ(cut.settings().batch_size(), 64);
  cut.mutable_settings()->set_micro_batch(16);
  cut.mutable_round()->set_median_seconds(64 * 7000 * kTick + 0.3);
  for (OperationTime& time : *cut.mutable_operations()) {
    time.set_median_seconds(10 * time.median_seconds());
  }
  *profile.add_probes() = cut;
  // Splitting costs the same in steps of other modes.
  for (const auto feedback :
       {ScheduleConfig::FUSED, ScheduleConfig::SNAPSHOT}) {
    ASSERT_OK_AND_ASSIGN(const RoleCosts times,
                         RoleCosts::Create(profile, {.role = DISCRIMINATOR,
                                                     .threads = 1,
                                                     .feedback = feedback}));
    EXPECT_NEAR(times.Rest(64, 1).alone, 0, 1e-12);
    EXPECT_NEAR(times.Rest(64, 4).alone, 0.3, 1e-12);
    EXPECT_NEAR(times.Rest(32, 2).alone, 0.1, 1e-12);
    EXPECT_NEAR(times.Of(OperationTime::REAL, 64).alone, 64 * 3000 * kTick,
                1e-12)
        << "whole steps are the points";
  }
}

// A single measurement may be disturbed, so the cost is the mean over all
// thread counts, as a fraction of the step.
TEST(RoleCostsTest, CostOfACutIsTheMeanOverAllThreadCounts) {
  Profile profile = ProfileBuilder().Threads({1, 2}).Build();
  std::vector<Probe> cuts;
  for (Probe& probe : *profile.mutable_probes()) {
    const ProbeSettings& settings = probe.settings();
    if (settings.role() != DISCRIMINATOR ||
        settings.feedback() != ScheduleConfig::FUSED) {
      continue;
    }
    const double seconds = static_cast<double>(settings.batch_size()) * 7000 *
                           kTick / settings.threads();
    probe.mutable_round()->set_median_seconds(seconds);
    if (settings.batch_size() != 64) continue;
    Probe& cut = cuts.emplace_back(probe);
    cut.mutable_settings()->set_micro_batch(32);
    cut.mutable_round()->set_median_seconds(
        seconds * (settings.threads() == 1 ? 1.4 : 0.8));
  }
  for (const Probe& cut : cuts) *profile.add_probes() = cut;
  for (const int threads : {1, 2}) {
    ASSERT_OK_AND_ASSIGN(
        const RoleCosts times,
        RoleCosts::Create(profile, {.role = DISCRIMINATOR,
                                    .threads = threads,
                                    .feedback = ScheduleConfig::FUSED}));
    EXPECT_NEAR(times.Rest(64, 2).alone, 0.1 * 64 * 7000 * kTick / threads,
                1e-12);
    EXPECT_NEAR(times.Rest(64, 1).alone, 0, 1e-12);
  }
}

// For FUSED and for two threads, the profile has only the recipe's batch. Half
// of the batch takes more than half of the time.
TEST(RoleCostsTest, OneSizeTakesTheShapeOfAnotherModeOrThreadCount) {
  Profile profile = ProfileBuilder().Threads({1, 2}).Build();
  auto& probes = *profile.mutable_probes();
  LeaveOneSize(profile);
  for (Probe& probe : probes) {
    if (probe.settings().batch_size() != 16) continue;
    for (OperationTime& time : *probe.mutable_operations()) {
      time.set_median_seconds(2 * time.median_seconds());
    }
  }
  for (const auto feedback :
       {ScheduleConfig::IMAGE_GRADIENT, ScheduleConfig::FUSED}) {
    for (const int threads : {1, 2}) {
      ASSERT_OK_AND_ASSIGN(const RoleCosts times,
                           RoleCosts::Create(profile, {.role = DISCRIMINATOR,
                                                       .threads = threads,
                                                       .feedback = feedback}));
      const double whole = times.Of(OperationTime::GENERATED, 64).alone;
      EXPECT_THAT(whole,
                  DoubleEq((feedback == ScheduleConfig::FUSED ? 4000 : 3000) *
                           64 * kTick / threads));
      EXPECT_THAT(times.Of(OperationTime::GENERATED, 16).alone,
                  DoubleEq(whole / 2));
      EXPECT_THAT(times.Of(OperationTime::GENERATED, 40).alone,
                  DoubleEq(whole * 3 / 4));
      EXPECT_THAT(times.Of(OperationTime::GENERATED, 128).alone,
                  DoubleEq(whole * 5 / 3));
    }
  }
}

// Probes beside the other role have only the recipe's batch, too.
TEST(RoleCostsTest, ContendedTimesTakeTheShapeOfUncontendedTimes) {
  Profile profile = ProfileBuilder().Beside(1.5).Build();
  auto& probes = *profile.mutable_probes();
  EraseProbes(profile, [](const Probe& probe) {
    return probe.settings().batch_size() == 16 &&
           probe.settings().beside_other_role();
  });
  for (Probe& probe : probes) {
    if (probe.settings().batch_size() != 16) continue;
    for (OperationTime& time : *probe.mutable_operations()) {
      time.set_median_seconds(2 * time.median_seconds());
    }
  }
  ASSERT_OK_AND_ASSIGN(
      const RoleCosts times,
      RoleCosts::Create(profile, {.role = GENERATOR, .threads = 1}));
  const ComputeCost cost = times.Of(OperationTime::FORWARD, 24);
  EXPECT_THAT(cost.beside, DoubleEq(1.5 * cost.alone));
}

TEST(RoleCostsTest, ImagesWithoutAGraphTakeAsLongAsWithOne) {
  Profile profile = ProfileBuilder().Build();
  for (Probe& probe : *profile.mutable_probes()) {
    auto& operations = *probe.mutable_operations();
    operations.erase(std::remove_if(operations.begin(), operations.end(),
                                    [](const OperationTime& time) {
                                      return time.operation() ==
                                             OperationTime::MAKE_IMAGES;
                                    }),
                     operations.end());
  }
  ASSERT_OK_AND_ASSIGN(
      const RoleCosts times,
      RoleCosts::Create(profile, {.role = GENERATOR,
                                  .threads = 1,
                                  .image_source = ScheduleConfig::FRESH}));
  EXPECT_EQ(times.Of(OperationTime::MAKE_IMAGES, 16),
            times.Of(OperationTime::FORWARD, 16));
}

TEST(RoleCostsTest, ContentionIsMeasured) {
  const Profile profile = ProfileBuilder().Beside(1.5).Build();
  ASSERT_OK_AND_ASSIGN(
      const RoleCosts times,
      RoleCosts::Create(profile, {.role = GENERATOR, .threads = 1}));
  const ComputeCost cost = times.Of(OperationTime::FORWARD, 16);
  EXPECT_THAT(cost.beside, DoubleEq(1.5 * cost.alone));
}

// Only the recipe's kernels are probed beside the other role.
TEST(RoleCostsTest, ContentionIsTheSameForOtherKernels) {
  Profile profile = ProfileBuilder().Build();
  for (Probe& probe : *profile.mutable_probes()) {
    probe.mutable_round()->set_median_seconds(0.5);
  }
  const Probe alone = profile.probes(0);
  ASSERT_EQ(alone.settings().role(), GENERATOR);
  Probe& beside = *profile.add_probes();
  beside = alone;
  beside.mutable_settings()->set_beside_other_role(true);
  beside.mutable_round()->set_median_seconds(0.75);
  Probe& narrow = *profile.add_probes();
  narrow = alone;
  narrow.mutable_settings()->set_precision(RoleConfig::BFLOAT16);
  ASSERT_OK_AND_ASSIGN(
      const RoleCosts times,
      RoleCosts::Create(profile, {.role = GENERATOR,
                                  .precision = RoleConfig::BFLOAT16,
                                  .threads = 1,
                                  .feedback = alone.settings().feedback()}));
  const ComputeCost cost = times.Of(OperationTime::FORWARD, 16);
  EXPECT_THAT(cost.beside, DoubleEq(1.5 * cost.alone));
}

TEST(RoleCostsTest, TimeOutsideOperationsIsTheRest) {
  ProfileBuilder builder;
  Profile profile = builder.Build();
  for (Probe& probe : *profile.mutable_probes()) {
    if (probe.settings().role() != DISCRIMINATOR) continue;
    // Real, generated and answered images, and a rest of 0.25 s.
    const double images = static_cast<double>(probe.settings().batch_size());
    const bool is_fused = probe.settings().feedback() == ScheduleConfig::FUSED;
    probe.mutable_round()->set_median_seconds(
        0.25 + images * (is_fused ? 7000 : 8000) * kTick);
  }
  for (const auto feedback :
       {ScheduleConfig::IMAGE_GRADIENT, ScheduleConfig::FUSED}) {
    ASSERT_OK_AND_ASSIGN(const RoleCosts times,
                         RoleCosts::Create(profile, {.role = DISCRIMINATOR,
                                                     .threads = 1,
                                                     .feedback = feedback}));
    EXPECT_NEAR(times.Rest(64, 1).alone, 0.25, 1e-12);
  }
}

// Rounds of a mode that was probed on a slower machine are not predicted to be
// slower. Operations that only one mode has keep their own times.
TEST(RoleCostsTest, CommonOperationsUseAllModes) {
  Profile profile = ProfileBuilder().Build();
  for (Probe& probe : *profile.mutable_probes()) {
    const bool is_fused = probe.settings().feedback() == ScheduleConfig::FUSED;
    double sum = 0;
    for (OperationTime& time : *probe.mutable_operations()) {
      time.set_median_seconds((is_fused ? 1.5 : 0.5) * time.median_seconds());
      const bool is_done =
          !is_fused || time.operation() != OperationTime::ANSWER;
      if (is_done) sum += time.median_seconds();
    }
    probe.mutable_round()->set_median_seconds(sum);
  }
  for (const auto feedback :
       {ScheduleConfig::IMAGE_GRADIENT, ScheduleConfig::FUSED}) {
    const bool is_fused = feedback == ScheduleConfig::FUSED;
    ASSERT_OK_AND_ASSIGN(const RoleCosts times,
                         RoleCosts::Create(profile, {.role = DISCRIMINATOR,
                                                     .threads = 1,
                                                     .feedback = feedback}));
    EXPECT_THAT(times.Of(OperationTime::REAL, 64).alone,
                DoubleEq(64 * 3000 * kTick));
    EXPECT_THAT(times.Of(OperationTime::GENERATED, 64).alone,
                DoubleEq(64 * (is_fused ? 1.5 * 4000 : 0.5 * 3000) * kTick));
    EXPECT_NEAR(times.Rest(64, 1).alone, 0, 1e-12);
  }
}

TEST(RoleCostsTest, ErrorsNameTheMissingMeasurement) {
  const Profile profile = ProfileBuilder().Threads({1, 2}).Build();
  EXPECT_THAT(
      RoleCosts::Create(profile, {.role = GENERATOR, .threads = 4}),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("no FORWARD of the GENERATOR with FLOAT32, "
                               "NCHW, 4 threads"),
                     HasSubstr("FLOAT32, NCHW, 1 thread; FLOAT32, NCHW, 2 "
                               "threads"),
                     HasSubstr("gandem profile"))));
}

TEST(ProfileCostsTest, CostsAreCachedBySettings) {
  const Profile profile = ProfileBuilder().Threads({1, 2}).Build();
  const ProfileCosts costs(profile);
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    for (const auto feedback :
         {ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT,
          ScheduleConfig::FUSED}) {
      for (const int threads : {1, 2}) {
        const RoleSettings settings = {
            .role = role, .threads = threads, .feedback = feedback};
        ASSERT_OK_AND_ASSIGN(const RoleCosts expected,
                             RoleCosts::Create(profile, settings));
        ASSERT_OK_AND_ASSIGN(const RoleCosts found, costs.Of(settings));
        for (const auto operation :
             {OperationTime::FORWARD, OperationTime::GENERATED,
              OperationTime::ANSWER, OperationTime::UPDATE}) {
          EXPECT_EQ(found.Of(operation, 48).alone,
                    expected.Of(operation, 48).alone);
          EXPECT_EQ(found.Of(operation, 48).beside,
                    expected.Of(operation, 48).beside);
        }
      }
    }
  }
}

TEST(ProfileCostsTest, MissingMeasurementsStayMissing) {
  const Profile profile = ProfileBuilder().Build();
  const ProfileCosts costs(profile);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(costs.Of({.role = GENERATOR, .threads = 4}).status(),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("4 threads")));
  }
}

}  // namespace
}  // namespace gandem
