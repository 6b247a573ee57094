// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config/run_config.h"
#include "scaling_manager/planner/search/search.h"
#include "tests/scaling_manager/planner/search/fake_models.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::FakeMachines;
using ::gandem::testing::FakeModels;
using ::gandem::testing::FakeRecipe;
using ::gandem::testing::FakeRequest;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

RunConfig RecipeOf(int generators, int discriminators) {
  RunConfig recipe = FakeRecipe();
  recipe.mutable_generator()->set_workers(generators);
  recipe.mutable_discriminator()->set_workers(discriminators);
  recipe.mutable_schedule()->set_feedback(ScheduleConfig::FUSED);
  recipe.mutable_schedule()->set_lag(1);
  return recipe;
}

PlanRequest RequestOf(const RunConfig& recipe, const Machines& machines) {
  return FakeRequest(machines, Plan::TIME_TO_QUALITY, {}, recipe);
}

TEST(AsItIsTest, OnlyTheRecipeIsPredicted) {
  ASSERT_OK_AND_ASSIGN(
      const Plan plan,
      PlanAsItIs(RequestOf(RecipeOf(1, 2), FakeMachines(8)),
                 /*colocated=*/false, FakeModels({.discriminator = 4e-3})));
  ASSERT_EQ(plan.candidates_size(), 1);
  const Candidate& only = plan.candidates(0);
  EXPECT_EQ(only.name(), "1 G + 2 D, 1 thread, FUSED, lag 1");
  EXPECT_EQ(only.config().discriminator().workers(), 2);
  EXPECT_EQ(only.placement().workers_size(), 3);
  // Two workers take 4 ms for each of 64 images; a lag costs 5 % of the images.
  EXPECT_NEAR(only.prediction().images_per_second(), 500, 1e-6);
  EXPECT_NEAR(only.prediction().images_needed(), 1.05, 1e-6);
  EXPECT_EQ(only.prediction().time_to_quality(), 0);
  EXPECT_EQ(EffectiveConfigText(only.config()), only.config().DebugString());
  EXPECT_EQ(plan.reasons(0), "the recipe itself: no other settings were tried");
  EXPECT_THAT(plan.reasons(1), HasSubstr("discriminator computing"));
}

TEST(AsItIsTest, ColocatedRunsInOneProcess) {
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       PlanAsItIs(RequestOf(RecipeOf(1, 1), FakeMachines(1)),
                                  /*colocated=*/true, FakeModels({})));
  EXPECT_EQ(plan.candidates(0).placement().workers(0).role(), COLOCATED);
  EXPECT_NEAR(plan.candidates(0).prediction().images_per_second(), 500, 1e-6);
}

// Workers take turns, as with `gandem train`.
TEST(AsItIsTest, OneMachineMayHaveMoreWorkersThanCores) {
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       PlanAsItIs(RequestOf(RecipeOf(2, 2), FakeMachines(2)),
                                  /*colocated=*/false, FakeModels({})));
  EXPECT_EQ(plan.candidates(0).placement().workers_size(), 4);
  EXPECT_EQ(plan.machines().hosts(0).cores(), 2);
}

TEST(AsItIsTest, SeveralHostsNeedACorePerThread) {
  EXPECT_THAT(
      PlanAsItIs(RequestOf(RecipeOf(2, 2), FakeMachines(1, /*hosts=*/3)),
                 /*colocated=*/false, FakeModels({})),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("2 generator and 2 discriminator workers"),
                     HasSubstr("the 3 devices"),
                     HasSubstr("--set generator.workers=1"))));
}

TEST(AsItIsTest, TooLittleMemoryIsReportedButAccepted) {
  Machines machines = FakeMachines(2);
  machines.mutable_hosts(0)->set_memory_bytes(int64_t{200} << 20);
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       PlanAsItIs(RequestOf(RecipeOf(1, 1), machines),
                                  /*colocated=*/false, FakeModels({})));
  // Two workers of 100 MiB and 1 MiB for each of 64 images, and 8 % more.
  EXPECT_THAT(plan.reasons(0),
              AllOf(HasSubstr("does not fit the memory: host0 has 200 MiB"),
                    HasSubstr("it needs 354 MiB")));
}

TEST(AsItIsTest, InvalidOrUnpredictableRecipesAreRejected) {
  RunConfig recipe = RecipeOf(1, 1);
  recipe.mutable_schedule()->set_lag(3);  // FUSED requires lag 1
  EXPECT_THAT(PlanAsItIs(RequestOf(recipe, FakeMachines(2)),
                         /*colocated=*/false, FakeModels({})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lag")));
  PlanModels models = FakeModels({});
  models.predict = [](const ProfileCosts&, const Machines&, const RunConfig&,
                      const Placement&) -> absl::StatusOr<Prediction> {
    return Prediction();
  };
  EXPECT_THAT(
      PlanAsItIs(RequestOf(RecipeOf(1, 1), FakeMachines(2)),
                 /*colocated=*/false, models),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 images/s")));
}

}  // namespace
}  // namespace gandem
