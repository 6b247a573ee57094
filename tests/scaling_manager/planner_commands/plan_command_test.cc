// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scaling_manager/planner/quality/optimizer_rules.h"
#include "tests/scaling_manager/planner/search/fake_models.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::FakeModels;
using ::gandem::testing::FakeProfile;
using ::gandem::testing::FakeRecipe;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

class PlanCommandTest : public ::testing::Test {
 protected:
  PlanCommandTest() {
    options_.recipe = "recipe";
    profile_.mutable_fingerprint()->set_cores(4);
  }

  absl::StatusOr<Plan> Made() const {
    return MakePlan(options_, FakeRecipe(/*batch=*/64), profile_, models_);
  }

  PlanOptions options_;
  Profile profile_ = FakeProfile({1, 2, 4});
  PlanModels models_ = FakeModels({});
};

TEST_F(PlanCommandTest, LagsAreWithinTheRange) {
  options_.lag = "2..3";
  ASSERT_OK_AND_ASSIGN(const Plan plan, Made());
  for (const Candidate& candidate : plan.candidates()) {
    // A colocated worker may have lag 0.
    if (candidate.placement().workers(0).role() == COLOCATED) continue;
    EXPECT_THAT(candidate.config().schedule().lag(), AllOf(Ge(2), Le(3)))
        << candidate.name();
  }
}

TEST_F(PlanCommandTest, InvalidRangesAreExplained) {
  for (const char* const lag : {"3..2", "-1", "0..65", "a", "1..2..3", ""}) {
    options_.lag = lag;
    EXPECT_THAT(Made(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("--lag"), HasSubstr("example 0..4"))))
        << lag;
  }
}

TEST_F(PlanCommandTest, LagsBeyondAllOptimismAreRejected) {
  models_.choose_optimizers = ChooseOptimizers;
  options_.lag = "30";
  EXPECT_THAT(Made(), StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("--lag '30' allows no plan"),
                                     HasSubstr("smallest lag is at most 20"))));
}

TEST_F(PlanCommandTest, MaxBatchIsAtLeastTheRecipesBatch) {
  options_.max_batch = 32;
  EXPECT_THAT(
      Made(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("--max_batch 32"), HasSubstr("batch of 64"),
                     HasSubstr("--set generator.batch_size=32"))));
  options_.max_batch = 64;
  EXPECT_OK(Made());
}

TEST_F(PlanCommandTest, UnknownObjectivesAreRejected) {
  options_.objective = "speed";
  EXPECT_THAT(Made(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--objective 'speed'"),
                             HasSubstr("time_to_quality, throughput"))));
  options_.objective = "Memory";
  EXPECT_OK(Made());
}

}  // namespace
}  // namespace gandem
