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

TEST_F(SimulatePlanTest, TablesArePrinted) {
  ASSERT_OK(SimulatePlan(options_, out_));
  EXPECT_THAT(
      out_.str(),
      AllOf(StartsWith("a pair; a round varies by 0.0 %\n"),
            HasSubstr("weak scaling"), HasSubstr("strong scaling"),
            HasSubstr("     100.0%"), HasSubstr("discriminator computing"),
            Not(HasSubstr("useful"))));
}

TEST_F(SimulatePlanTest, ProfilesOfAnotherModelAreRejected) {
  Profile profile = ProfileBuilder().Build();
  profile.mutable_fingerprint()->set_networks(7);
  profile.mutable_recipe()->set_name("other");
  EXPECT_OK(WriteFile(dir_ / "profile.textproto", TextOf(profile)));
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("another model"), HasSubstr("'other'"),
                             HasSubstr("--profile"))));
}

TEST_F(SimulatePlanTest, ImpossibleNumbersAreRejected) {
  Profile profile = ProfileBuilder().Build();
  profile.mutable_transfers(0)->set_latency_seconds(-1);
  EXPECT_OK(WriteFile(dir_ / "profile.textproto", TextOf(profile)));
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("profile.textproto"),
                             HasSubstr("transfers[0]"))));
}

TEST_F(SimulatePlanTest, ErrorsNameTheInvalidInput) {
  options_.devices = "many";
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--devices 'many'")));
  options_.devices = "2";
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

TEST_F(SimulatePlanTest, MissingProfilesAreRequested) {
  options_.plan = dir_ / "alone.textproto";
  ASSERT_OK(WriteFile(options_.plan, TextOf(plan_)));
  ASSERT_OK(RemoveAll(dir_ / "profile.textproto"));
  EXPECT_THAT(SimulatePlan(options_, out_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("--profile")));
}

}  // namespace
}  // namespace gandem
