// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/files/file.h"
#include "tests/scaling_manager/planner/search/fake_models.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::FakeMachines;
using ::gandem::testing::FakeModels;
using ::gandem::testing::FakeRequest;
using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

Plan SmallPlan() {
  return *FindPlan(FakeRequest(FakeMachines(3)), FakeModels({}));
}

absl::Status Written(const Plan& plan) {
  const TempDir folder;
  EXPECT_OK(WritePlan(plan, folder / "p"));
  return ReadPlan(folder / "p").status();
}

TEST(PlanFileTest, AWrittenPlanIsReadBackUnchanged) {
  const TempDir folder;
  const Plan plan = SmallPlan();
  ASSERT_OK(WritePlan(plan, folder / "p"));
  ASSERT_OK_AND_ASSIGN(const Plan again, ReadPlan(folder / "p"));
  EXPECT_EQ(again.DebugString(), plan.DebugString());
}

TEST(PlanFileTest, InvalidPlansAreRefusedByName) {
  EXPECT_THAT(ParsePlan("", "p"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("p: the plan has no candidates")));
  EXPECT_THAT(ParsePlan("candidate { }", "p"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("p:1:1")));
  Plan plan = SmallPlan();
  plan.mutable_candidates(1)->mutable_config()->mutable_schedule()->set_lag(-1);
  EXPECT_THAT(Written(plan), StatusIs(absl::StatusCode::kInvalidArgument,
                                      AllOf(HasSubstr("candidate 2"),
                                            HasSubstr("schedule.lag"))));
}

TEST(PlanFileTest, APlacementMustMatchTheWorkersInItsConfig) {
  Plan plan = SmallPlan();
  plan.mutable_candidates(0)
      ->mutable_placement()
      ->mutable_workers()
      ->RemoveLast();
  EXPECT_THAT(Written(plan), StatusIs(absl::StatusCode::kInvalidArgument,
                                      AllOf(HasSubstr("candidate 1"),
                                            HasSubstr("is not placed"))));
  plan = SmallPlan();
  plan.mutable_candidates(0)->mutable_placement()->mutable_workers(0)->set_host(
      "elsewhere");
  EXPECT_THAT(Written(plan), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("no host 'elsewhere'")));
  plan = SmallPlan();
  plan.mutable_candidates(0)->mutable_placement()->mutable_workers(0)->set_rank(
      9);
  EXPECT_THAT(Written(plan), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("9: the config has")));
}

TEST(PlanTextTest, EachCandidateHasARow) {
  const Plan plan = SmallPlan();
  const std::string table = PlanTable(plan);
  for (const Candidate& candidate : plan.candidates()) {
    EXPECT_THAT(table, HasSubstr(candidate.name()));
  }
  EXPECT_THAT(table, HasSubstr("img/s"));
  EXPECT_THAT(table, HasSubstr("why 1:\n  " + plan.reasons(0)));
}

TEST(PlanTextTest, TheChosenPlanIsPrinted) {
  Plan plan = SmallPlan();
  const auto lines = PlanLines(plan);
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_EQ(lines[0], "plan: " + plan.candidates(0).name() + ", one of " +
                          std::to_string(plan.candidates_size()) +
                          " candidates");
  EXPECT_THAT(lines[4], StartsWith("why: " + plan.reasons(0)));
  plan.clear_reasons();
  EXPECT_THAT(PlanLines(plan), SizeIs(4));
}

}  // namespace
}  // namespace gandem
