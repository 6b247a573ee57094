// SPDX-License-Identifier: Apache-2.0
#include "common/config/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ExplainTest, AFieldIsShownWithTypeDefaultAndComment) {
  EXPECT_EQ(
      *ExplainField("schedule.lag"),
      "schedule.lag (int64 in [0, 64]; default 1)\n"
      "  L, the number of rounds by which the discriminator may trail the "
      "generator.\n"
      "  0 is the synchronous algorithm; 1 keeps both roles busy.\n");
  EXPECT_THAT(*ExplainField("generator.device"),
              StartsWith("generator.device (string; default \"cpu\")\n"));
  EXPECT_THAT(
      *ExplainField("generator.network.mlp.hidden"),
      StartsWith(
          "generator.network.mlp.hidden (list of at most 64 int64 in [1, "
          "65536])\n"));
  EXPECT_THAT(*ExplainField("generator.optimizer.adam.learning_rate"),
              HasSubstr("default 0.0002"));
}

TEST(ExplainTest, AnEnumListsItsValues) {
  EXPECT_THAT(*ExplainField("loss"),
              AllOf(StartsWith("loss (one of NON_SATURATING, HINGE, "),
                    HasSubstr("; default NON_SATURATING)\n  Adversarial loss"),
                    HasSubstr("\n  HINGE\n    D: relu(1 - r)")));
}

TEST(ExplainTest, AMessageListsItsFields) {
  EXPECT_THAT(
      *ExplainField("samples"),
      AllOf(StartsWith("samples (SampleConfig; may change when a run is "
                       "resumed)\n  Grids of generated"),
            HasSubstr("\n  samples.num_images = 64\n")));
}

TEST(ExplainTest, TheReferenceHasEveryFieldInOneSentence) {
  EXPECT_THAT(
      ExplainAllFields(),
      AllOf(StartsWith("name (string; default \"unnamed\"; may change when a "
                       "run is resumed)\n    Short name of the run, shown in "
                       "logs and reports.\n"),
            HasSubstr("\nschedule.lag (int64 in [0, 64]; default 1)\n"),
            HasSubstr("\ngenerator.optimizer.adam.beta1 (double in [0, 1); "),
            HasSubstr("\n    pix2pix (Isola et al. 2017)"),
            HasSubstr("\n    Has the fields of generator.\n"),
            Not(HasSubstr("\ndiscriminator.optimizer.adam.beta1")),
            Not(HasSubstr("\n    .\n"))));
}

TEST(ExplainTest, ThePathOfAFieldMayBeAbbreviatedToItsEnd) {
  EXPECT_EQ(*ExplainField("lag"), *ExplainField("schedule.lag"));
  EXPECT_THAT(
      *ExplainField("beta1"),
      AllOf(StartsWith("generator.optimizer.adam.beta1 (double in [0, 1); "
                       "default 0)"),
            HasSubstr("\n\ndiscriminator.optimizer.adam.beta1 (double")));
}

TEST(ExplainTest, UnknownFieldsAreReportedWithTheNearestName) {
  EXPECT_THAT(ExplainField("schedule.lagg"),
              StatusIs(absl::StatusCode::kNotFound,
                       "no field 'schedule.lagg': ScheduleConfig has no "
                       "'lagg' (did you mean 'lag'?)"));
  EXPECT_THAT(ExplainField("learning_rat"),
              StatusIs(absl::StatusCode::kNotFound,
                       "no field 'learning_rat'; did you mean "
                       "'learning_rate'?"));
  EXPECT_THAT(ExplainField("schedule.lag.x"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("goes on after a plain value")));
  EXPECT_THAT(ExplainField(""), StatusIs(absl::StatusCode::kNotFound));
}

// `gandem explain` would show an empty line for a field that neither its own
// comment nor one of its type or values explains.
TEST(ExplainTest, EveryFieldIsExplained) {
  EXPECT_THAT(AllFields(), Contains("generator.network.mlp.hidden"));
  for (const std::string& field : AllFields()) {
    ASSERT_OK_AND_ASSIGN(const std::string text, ExplainField(field));
    bool explained = false;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      explained |= line != "" && line != absl::StrCat("  ", field) &&
                   line.substr(0, 2) == "  " &&
                   line.find(absl::StrCat("  ", field, ".")) != 0 &&
                   line.find(' ', 2) != absl::string_view::npos;
    }
    EXPECT_TRUE(explained) << text;
  }
}

}  // namespace
}  // namespace gandem
