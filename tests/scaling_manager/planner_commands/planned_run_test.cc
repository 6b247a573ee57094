// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "common/config/run_config.h"
#include "scaling_manager/planner_commands/plan_command.h"
#include "scaling_manager/planner_commands/plan_file.h"
#include "scaling_manager/profiler/fingerprint.h"
#include "scaling_manager/profiler/profile_file.h"
#include "tests/scaling_manager/planner/search/fake_models.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::FakeMachines;
using ::gandem::testing::FakeModels;
using ::gandem::testing::FakeProfile;
using ::gandem::testing::FakeRecipe;
using ::gandem::testing::FakeRequest;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Returns a plan of at least six discriminator workers, which uses all cores.
Plan PlanFor(int cores, int hosts = 1) {
  const auto plan = FindPlan(FakeRequest(FakeMachines(cores, hosts)),
                             FakeModels({.discriminator = 20e-3}));
  EXPECT_OK(plan);
  return plan.ok() ? *plan : Plan();
}

TEST(PlannedRunTest, PlansForMoreCoresAreRejected) {
  const Plan plan = PlanFor(8);
  EXPECT_OK(CheckMachineHas(plan, 8, /*external=*/false));
  EXPECT_THAT(
      CheckMachineHas(plan, 2, /*external=*/false),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("is for 8 cores"), HasSubstr("may use 2"),
                     HasSubstr("--devices 2"))));
  EXPECT_OK(CheckMachineHas(plan, 2, /*external=*/true));
}

TEST(PlannedRunTest, PlansForSeveralHostsNeedExternal) {
  const Plan plan = PlanFor(1, /*hosts=*/3);
  EXPECT_THAT(CheckMachineHas(plan, 64, /*external=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("3 hosts"), HasSubstr("--external"),
                             HasSubstr("--devices 64"))));
  EXPECT_OK(CheckMachineHas(plan, 1, /*external=*/true));
}

TEST(PlannedRunTest, NoticesSayWhereToStartWorkers) {
  const std::vector<std::string> lines = PlanNotices(PlanFor(1, /*hosts=*/3));
  EXPECT_THAT(
      lines, Contains(AllOf(StartsWith("on "), HasSubstr(": discriminator "))));
  EXPECT_THAT(lines.back(), HasSubstr("gandem doctor PLAN"));
  EXPECT_THAT(PlanNotices(PlanFor(8)), Not(Contains(HasSubstr("doctor"))));
}

TEST(PlannedRunTest, MissingCandidatesAreNamed) {
  const TempDir folder;
  const Plan plan = PlanFor(4);
  ASSERT_OK(WritePlan(plan, folder / "p"));
  ASSERT_OK_AND_ASSIGN(
      const std::optional<Plan> second,
      PlanToFollow({.plan = folder / "p", .candidate = 2}, folder / "run"));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->candidates(0).name(), plan.candidates(1).name());
  EXPECT_EQ(second->reasons_size(), 0);
  for (const int candidate : {0, plan.candidates_size() + 1}) {
    EXPECT_THAT(
        PlanToFollow({.plan = folder / "p", .candidate = candidate},
                     folder / "run")
            .status(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("--candidate " + std::to_string(candidate))));
  }
}

TEST(PlannedRunTest, InterruptedProfilesAreCompleted) {
  const TempDir cache;
  setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const RunConfig recipe = EffectiveConfig(FakeRecipe());
  Profile kept = FakeProfile({1});
  *kept.mutable_recipe() = recipe;
  *kept.mutable_fingerprint() = FingerprintHere(recipe);
  for (Probe& probe : *kept.mutable_probes()) {
    probe.mutable_round()->set_median_seconds(1);
  }
  int asked = 0;
  const auto measure = [&](const RunConfig&,
                           const std::string&) -> absl::StatusOr<Profile> {
    ++asked;
    return absl::CancelledError("again");
  };
  kept.set_is_under_way(true);
  KeepProfile(kept, /*even_with_less=*/true);
  EXPECT_THAT(PlanNow(recipe, {}, cache.path(), measure).status(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("again")));
  EXPECT_EQ(asked, 1);
  // A short but complete profile is used.
  kept.set_is_under_way(false);
  KeepProfile(kept, /*even_with_less=*/true);
  PlanNow(recipe, {}, cache.path(), measure).IgnoreError();
  EXPECT_EQ(asked, 1);
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace gandem
