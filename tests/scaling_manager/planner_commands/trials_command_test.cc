// SPDX-License-Identifier: Apache-2.0
//
// tests/integration/planning/trials_test.py runs the trials.
#include "scaling_manager/planner_commands/trials_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TrialsCommandTest : public ::testing::Test {
 protected:
  TrialsCommandTest() {
    EXPECT_OK(WriteFile(folder_ / "recipe.textproto", R"(
        rounds: 400 seed: 7
        generator { network { mlp {} } }
        discriminator { network { mlp {} } })"));
    options_.recipe = folder_ / "recipe.textproto";
    options_.output = folder_ / "trials";
  }
  TempDir folder_;
  TrialsOptions options_;
};

TEST_F(TrialsCommandTest, AStudyOfTheRecipeIsCreated) {
  options_.sets = {"schedule.lag=2"};
  options_.trials = 5;
  options_.seeds = 2;
  const auto study = StudyOf(options_);
  ASSERT_OK(study.status());
  EXPECT_EQ(study->recipe().schedule().lag(), 2);
  EXPECT_EQ(study->trials_size(), 5);
  EXPECT_THAT(study->seeds(), ElementsAre(7, 8));
  EXPECT_THAT(study->rungs(), ElementsAre(10, 20, 40));
  EXPECT_THAT(study->evaluate_arguments(), ElementsAre("--num", "2000"));
}

TEST_F(TrialsCommandTest, AllFaultsAreReported) {
  options_.trials = 1;
  options_.seeds = 0;
  options_.hours = -1;
  EXPECT_THAT(StudyOf(options_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--trials 1"), HasSubstr("--seeds 0"),
                             HasSubstr("--trial_hours -1"))));
}

TEST_F(TrialsCommandTest, AFolderOfAnotherStudyIsRefused) {
  ASSERT_OK(CreateDirectories(options_.output));
  const std::string path = options_.output + "/trials.textproto";
  ASSERT_OK(WriteFile(path, "seeds: 1 rungs: 5"));
  EXPECT_THAT(RunTrials(options_, stdout),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(options_.output),
                             HasSubstr("another study (added: recipe"))));
  ASSERT_OK(WriteFile(path, "odd: 1"));
  EXPECT_THAT(RunTrials(options_, stdout),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
}

}  // namespace
}  // namespace gandem
