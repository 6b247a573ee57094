// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/simulate_plan_command.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "common/files/file.h"
#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::HostsOf;
using ::gandem::testing::PlacementOf;
using ::gandem::testing::PlannedConfig;
using ::gandem::testing::ProfileBuilder;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string TextOf(const google::protobuf::Message& message) {
  std::string text;
  EXPECT_TRUE(google::protobuf::TextFormat::PrintToString(message, &text));
  return text;
}

class SimulatePlanTest : public ::testing::Test {
 protected:
  SimulatePlanTest() {
    Candidate& candidate = *plan_.add_candidates();
    candidate.set_name("a pair");
    *candidate.mutable_config() = PlannedConfig();
    *candidate.mutable_placement() = PlacementOf({"G a", "D a"});
    *plan_.mutable_machines() = HostsOf(1, 2);
    plan_.mutable_machines()->mutable_link()->set_bytes_per_second(1e9);
    options_.plan = dir_ / "plan.textproto";
    options_.devices = "2..8";
    EXPECT_OK(WriteFile(options_.plan, TextOf(plan_)));
    EXPECT_OK(WriteFile(dir_ / "profile.textproto",
                        TextOf(ProfileBuilder().Build())));
  }

  const gandem::testing::TempDir dir_;
  Plan plan_;
  SimulatePlanOptions options_;
  std::ostringstream out_;
};

TEST_F(SimulatePlanTest, PrintsTablesAndCurves) {
  ASSERT_OK(SimulatePlan(options_, out_));
  EXPECT_THAT(
      out_.str(),
      AllOf(StartsWith("a pair; a round varies by 0.0 %\n"),
            HasSubstr("weak scaling"), HasSubstr("strong scaling"),
            HasSubstr("       2 |##################################"
                      "################ 100.0 %\n"),
            HasSubstr("discriminator computing"), Not(HasSubstr("useful"))));
}

TEST_F(SimulatePlanTest, AProfileOfAnotherModelIsRefused) {
  Profile profile = ProfileBuilder().Build();
  profile.mutable_fingerprint()->set_networks(7);
  profile.mutable_recipe()->set_name("other");
  EXPECT_OK(WriteFile(dir_ / "profile.textproto", TextOf(profile)));
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("another model"), HasSubstr("'other'"),
                             HasSubstr("--profile"))));
}

TEST_F(SimulatePlanTest, NumbersThatNoMachineHasAreNoProfile) {
  Profile profile = ProfileBuilder().Build();
  profile.mutable_transfers(0)->set_latency_seconds(-1);
  EXPECT_OK(WriteFile(dir_ / "profile.textproto", TextOf(profile)));
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("profile.textproto"),
                             HasSubstr("transfers(0)"))));
}

TEST(ScalingTableTest, BarsAreNoLongerThanTheWidthAndSayWhatTheyAreOf) {
  const std::vector<ScalingRow> rows = {
      {.devices = 2, .efficiency = 1},
      {.devices = 4, .efficiency = 4, .useful = 0.5}};
  const std::string text =
      ScalingTable(Scaling::kWeak, rows, /*has_failures=*/true);
  EXPECT_THAT(text,
              AllOf(HasSubstr("100 %: the images/s of a device where there are "
                              "2; times the useful part\n"),
                    HasSubstr("2 |" + std::string(25, '#') + " 100.0 %"),
                    HasSubstr("4 |" + std::string(50, '#') + " 200.0 %")));
}

TEST_F(SimulatePlanTest, FailuresMayTakeItBelowTheAim) {
  options_.mtbf_hours = 0.1;
  ASSERT_OK(SimulatePlan(options_, out_));
  EXPECT_THAT(out_.str(), Not(HasSubstr("stays above 95 % up to")));
}

// Rounds of more devices may be better again: of what falls below the aim in
// between a plan is sought.
TEST_F(SimulatePlanTest, TheWorstRowIsWhatAPlanIsSoughtFor) {
  options_.devices = "2,3,4";
  ASSERT_OK(SimulatePlan(options_, out_));
  EXPECT_THAT(out_.str(), HasSubstr("keeps it above 95 % at 3:\n"));
}

TEST_F(SimulatePlanTest, FailuresAddColumns) {
  options_.mtbf_hours = 1000;
  ASSERT_OK(SimulatePlan(options_, out_));
  EXPECT_THAT(out_.str(), HasSubstr("useful  checkpoint every"));
}

TEST_F(SimulatePlanTest, PrintsCsv) {
  options_.csv = true;
  ASSERT_OK(SimulatePlan(options_, out_));
  EXPECT_THAT(out_.str(), AllOf(StartsWith("scaling,devices,generators,"),
                                HasSubstr("\nweak,2,1,1,64,"),
                                HasSubstr("\nstrong,8,4,4,64,")));
}

TEST_F(SimulatePlanTest, DrawsAChart) {
  options_.chart = dir_ / "a.svg";
  ASSERT_OK(SimulatePlan(options_, out_));
  ASSERT_OK_AND_ASSIGN(const std::string svg, ReadFile(options_.chart));
  EXPECT_THAT(svg, StartsWith("<svg "));
  options_.chart = dir_ / "a.png";
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("name a file .svg")));
}

TEST_F(SimulatePlanTest, WhatIsWrongIsNamed) {
  options_.devices = "many";
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--devices 'many'")));
  options_.devices = "2";
  options_.restart_seconds = -1;
  options_.mtbf_hours = -2;
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--restart_seconds -1"),
                             HasSubstr("--mtbf_hours -2"))));
  options_.restart_seconds = options_.mtbf_hours = 0;
  options_.profile = dir_ / "other.textproto";
  EXPECT_THAT(
      SimulatePlan(options_, out_),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("other.textproto")));
  options_.profile.clear();
  ASSERT_OK(WriteFile(dir_ / "profile.textproto", "probes { oops: 1 }"));
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("profile.textproto:1:")));
  options_.plan = dir_ / "folder/plan.textproto";
  EXPECT_FALSE(SimulatePlan(options_, out_).ok());
}

TEST_F(SimulatePlanTest, AProfileThatIsNotBesideThePlanIsAskedFor) {
  options_.plan = dir_ / "alone.textproto";
  ASSERT_OK(WriteFile(options_.plan, TextOf(plan_)));
  ASSERT_OK(RemoveAll(dir_ / "profile.textproto"));
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--profile")));
}

// --- The chart ---

TEST(EfficiencyChartTest, HasAPointForEachRowWithNumbers) {
  const std::vector<ScalingRow> weak = {
      {.devices = 1, .efficiency = 1},
      {.devices = 4, .why_not = "no"},
      {.devices = 16, .efficiency = 4, .useful = 0.5}};
  const std::string chart = EfficiencyChart(weak, {});
  // Between 70 and 536 with 4 % of the doublings on both sides; the largest of
  // 200 % is 8 % below the top at 36, 0 is at 306.
  EXPECT_THAT(chart, AllOf(HasSubstr("<circle cx=\"87.3\" cy=\"181.0\""),
                           HasSubstr("<circle cx=\"518.7\" cy=\"56.0\""),
                           HasSubstr(">weak scaling<"), HasSubstr(">16<")));
  EXPECT_THAT(chart, Not(HasSubstr(">4<")));
  EXPECT_THAT(EfficiencyChart({}, {}), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace gandem
