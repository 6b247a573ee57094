// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/files/file.h"
#include "scaling_manager/planner_commands/plan_text.h"
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

TEST(PlanFileTest, APlanIsReadAsItWasWritten) {
  const TempDir folder;
  const Plan plan = SmallPlan();
  ASSERT_OK(WritePlan(plan, folder / "p"));
  ASSERT_OK_AND_ASSIGN(const Plan again, ReadPlan(folder / "p"));
  EXPECT_EQ(again.DebugString(), plan.DebugString());
}

TEST(PlanFileTest, WhatIsNoPlanIsRefusedByName) {
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

TEST(PlanFileTest, APlacementHasTheWorkersOfItsConfig) {
  Plan plan = SmallPlan();
  plan.mutable_candidates(0)
      ->mutable_placement()
      ->mutable_workers()
      ->RemoveLast();
  EXPECT_THAT(Written(plan),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("candidate 1"),
                             HasSubstr("workers of the config"))));
  plan = SmallPlan();
  plan.mutable_candidates(0)->mutable_placement()->mutable_workers(0)->set_host(
      "elsewhere");
  EXPECT_THAT(Written(plan), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("host 'elsewhere'")));
  plan = SmallPlan();
  plan.mutable_candidates(0)->mutable_placement()->mutable_workers(0)->set_rank(
      9);
  EXPECT_THAT(Written(plan), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("of rank 9")));
}

TEST(PlanTextTest, ARowForEachCandidate) {
  const Plan plan = SmallPlan();
  const std::string table = PlanTable(plan);
  for (const Candidate& candidate : plan.candidates()) {
    EXPECT_THAT(table, HasSubstr(candidate.name()));
  }
  EXPECT_THAT(table, HasSubstr("img/s"));
  EXPECT_THAT(table, HasSubstr("why 1:\n  " + plan.reasons(0)));
}

TEST(PlanTextTest, SixLines) {
  const Plan plan = SmallPlan();
  const auto lines = PlanLines(plan, 0);
  ASSERT_THAT(lines, SizeIs(6));
  EXPECT_THAT(lines[0], StartsWith("plan: " + plan.candidates(0).name()));
  EXPECT_THAT(lines[4], StartsWith("why: " + plan.reasons(0)));
  EXPECT_THAT(lines[5], StartsWith("to be faster: "));
  EXPECT_THAT(PlanLines(plan, 1), SizeIs(6));
}

TEST(PlanTextTest, TimesAreOfTheBestWhereNoneIsSynchronous) {
  Plan plan = SmallPlan();
  EXPECT_THAT(PlanTable(plan), HasSubstr("of the best synchronous run, which"));
  for (Candidate& candidate : *plan.mutable_candidates()) {
    candidate.mutable_config()->mutable_schedule()->set_lag(1);
  }
  // Those of a synchronous one that is no candidate.
  plan.mutable_candidates(0)->mutable_prediction()->set_time_to_quality(0.5);
  EXPECT_THAT(PlanTable(plan), HasSubstr("of the best synchronous run, which"));
  for (Candidate& candidate : *plan.mutable_candidates()) {
    candidate.mutable_prediction()->set_time_to_quality(1);
  }
  EXPECT_THAT(PlanTable(plan),
              HasSubstr("of the best candidate (none is synchronous), which"));
}

TEST(PlanTextTest, APlanWithoutReasonsIsAChoiceOfSomebody) {
  Plan plan = SmallPlan();
  plan.clear_reasons();
  const auto lines = PlanLines(plan, 0);
  EXPECT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0], "plan: " + plan.candidates(0).name() + ", one of " +
                          std::to_string(plan.candidates_size()) +
                          " candidates");
}

TEST(PlanTextTest, GainsCountTheImagesThatAreNeeded) {
  Prediction a;
  a.set_images_per_second(200);
  a.set_images_needed(2);
  Prediction b;
  b.set_images_per_second(100);
  b.set_images_needed(1);
  EXPECT_DOUBLE_EQ(GainOver(Plan::TIME_TO_QUALITY, a, b), 1);
  EXPECT_DOUBLE_EQ(GainOver(Plan::THROUGHPUT, a, b), 2);
}

}  // namespace
}  // namespace gandem
