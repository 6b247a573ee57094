// SPDX-License-Identifier: Apache-2.0
#include "control_plane/reports/run_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Returns a run with one metric, by step.
ComparedRun JudgedRun(const std::string& recipe, uint64_t seed,
                      const std::map<int64_t, double>& values,
                      std::optional<double> sd = 1.0) {
  JudgedCurve curve = {.metric = "FD", .setting = "way", .about = "about"};
  for (const auto& [step, value] : values) {
    curve.points.push_back({.step = step, .value = value, .sd = sd});
  }
  return {.run_dir = absl::StrCat(recipe, seed),
          .recipe = recipe,
          .seed = seed,
          .curves = {curve}};
}

TEST(CompareRunsTest, TwoRunsAreComparedByTheirCards) {
  const std::array runs = {JudgedRun("a", 1, {{10, 20.0}, {20, 9.0}}),
                           JudgedRun("b", 1, {{10, 30.0}, {30, 1.0}})};
  ASSERT_OK_AND_ASSIGN(const RunComparison result, CompareRuns(runs, "", {}));
  ASSERT_THAT(result.sides, SizeIs(2));
  EXPECT_THAT(result.sides[0].steps, ElementsAre(10));  // the common step
  ASSERT_THAT(result.verdicts, SizeIs(1));
  const Verdict& verdict = result.verdicts[0];
  EXPECT_EQ(verdict.better, "a1");
  EXPECT_EQ(verdict.difference, 10);
  // 1.96 times the square root of 2.
  EXPECT_NEAR(verdict.interval->low, 10 - 2.7718, 1e-3);
  EXPECT_NEAR(verdict.interval->high, 10 + 2.7718, 1e-3);
  EXPECT_TRUE(verdict.is_sure);
  EXPECT_THAT(verdict.text, HasSubstr("takes several seeds"));
}

TEST(CompareRunsTest, WarningsOfCardsBecomeNotes) {
  std::array runs = {JudgedRun("a", 1, {{10, 20.0}}),
                     JudgedRun("b", 1, {{10, 30.0}})};
  runs[0].curves[0].points[0].warnings = {"a small rank"};
  for (ComparedRun& run : runs) {
    run.curves[0].points[0].images_sha256 = "0123";
  }
  ASSERT_OK_AND_ASSIGN(const RunComparison result, CompareRuns(runs, "", {}));
  EXPECT_THAT(result.notes,
              ElementsAre("a1: a small rank",
                          StartsWith("b1 and a1 made the same images")));
}

TEST(CompareRunsTest, SmallDifferencesAndUnknownSpreadsHaveNoVerdict) {
  const std::array close = {JudgedRun("a", 1, {{10, 20.0}}),
                            JudgedRun("b", 1, {{10, 21.0}})};
  ASSERT_OK_AND_ASSIGN(RunComparison result, CompareRuns(close, "", {}));
  EXPECT_FALSE(result.verdicts[0].is_sure);
  EXPECT_THAT(result.verdicts[0].text, StartsWith("Cannot say"));
  const std::array unknown = {JudgedRun("a", 1, {{10, 20.0}}, std::nullopt),
                              JudgedRun("b", 1, {{10, 99.0}})};
  ASSERT_OK_AND_ASSIGN(result, CompareRuns(unknown, "", {}));
  EXPECT_FALSE(result.verdicts[0].is_sure);
  EXPECT_THAT(result.verdicts[0].text, HasSubstr("--halvings"));
}

TEST(CompareRunsTest, DifferentNumbersOfRoundsHaveNoVerdict) {
  const std::array runs = {JudgedRun("a", 1, {{10, 20.0}}),
                           JudgedRun("b", 1, {{30, 90.0}})};
  ASSERT_OK_AND_ASSIGN(const RunComparison result, CompareRuns(runs, "", {}));
  EXPECT_FALSE(result.verdicts[0].is_sure);
  EXPECT_THAT(result.verdicts[0].text, HasSubstr("no step of all runs"));
}

std::vector<ComparedRun> Seeds(const std::string& recipe,
                               const std::vector<double>& values) {
  std::vector<ComparedRun> runs;
  for (size_t i = 0; i < values.size(); ++i) {
    runs.push_back(JudgedRun(recipe, i, {{10, values[i]}}));
  }
  return runs;
}

std::vector<ComparedRun> Both(std::vector<ComparedRun> a,
                              const std::vector<ComparedRun>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(CompareRunsTest, SeedsOfOneRecipeAreOneSide) {
  ASSERT_OK_AND_ASSIGN(const RunComparison result,
                       CompareRuns(Both(Seeds("b", {30, 31, 32, 33}),
                                        Seeds("a", {10, 11, 12, 13})),
                                   "", {}));
  ASSERT_THAT(result.sides, SizeIs(2));
  EXPECT_EQ(result.sides[0].mean, 11.5);
  EXPECT_EQ(result.verdicts[0].difference, 20);
  EXPECT_TRUE(result.verdicts[0].is_sure);
  EXPECT_THAT(result.verdicts[0].text, StartsWith("Yes: a0 and 3 other seeds"));
  EXPECT_GE(result.verdicts[0].interval->low, 17);
  EXPECT_LE(result.verdicts[0].interval->high, 23);
}

TEST(CompareRunsTest, ThreeSeedsAreTooFew) {
  ASSERT_OK_AND_ASSIGN(
      const RunComparison result,
      CompareRuns(Both(Seeds("a", {1, 2, 3}), Seeds("b", {91, 92, 93})), "",
                  {}));
  EXPECT_FALSE(result.verdicts[0].is_sure);
  EXPECT_THAT(result.verdicts[0].text, HasSubstr("too few"));
}

TEST(CompareRunsTest, RepeatedSeedsCountOnce) {
  auto runs = Both(Seeds("a", {1, 2}), Seeds("a", {1}));
  ASSERT_OK_AND_ASSIGN(const RunComparison result, CompareRuns(runs, "", {}));
  ASSERT_THAT(result.sides, SizeIs(1));
  EXPECT_THAT(result.sides[0].values, ElementsAre(1, 2));
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("not counted again")));
  EXPECT_TRUE(result.verdicts.empty());
}

TEST(CompareRunsTest, HigherValuesMayBeBetter) {
  std::array runs = {JudgedRun("a", 1, {{10, 2.0}}, 0.01),
                     JudgedRun("b", 1, {{10, 3.0}}, 0.01)};
  for (ComparedRun& run : runs) run.curves[0].lower_is_better = false;
  ASSERT_OK_AND_ASSIGN(const RunComparison result, CompareRuns(runs, "", {}));
  EXPECT_EQ(result.verdicts[0].better, "b1");
  EXPECT_EQ(result.verdicts[0].difference, 1);
  EXPECT_TRUE(result.verdicts[0].is_sure);
}

TEST(CompareRunsTest, MissingDataIsNamed) {
  const auto one = JudgedRun("a", 1, {{10, 2.0}});
  auto other = JudgedRun("b", 1, {{10, 2.0}});
  EXPECT_THAT(CompareRuns(std::array{one}, "", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two")));
  EXPECT_THAT(
      CompareRuns(std::array{one, other}, "", 50).status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("--checkpoint 50")));
  EXPECT_THAT(CompareRuns(std::array{one, other}, "KID", {}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'KID'")));
  other.curves[0].setting = "another way";
  EXPECT_THAT(CompareRuns(std::array{one, other}, "", {}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("in the same way")));
  other.curves.clear();
  EXPECT_THAT(
      CompareRuns(std::array{one, other}, "", {}).status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("`gandem evaluate b1`")));
}

// The interval of 20 values is mean +- 2.093 s / sqrt(20).
TEST(StudentIntervalTest, TheIntervalOfOneSideIsStudents) {
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(i);  // s = 5.916
  const Interval interval = StudentInterval(values, {});
  EXPECT_NEAR(interval.low, 9.5 - 2.769, 0.01);
  EXPECT_NEAR(interval.high, 9.5 + 2.769, 0.01);
}

// There are 6 degrees of freedom, because both variances are equal.
TEST(StudentIntervalTest, TheIntervalOfADifferenceIsWelchs) {
  const Interval interval = StudentInterval(std::vector<double>{3, 4, 5, 6},
                                            std::vector<double>{1, 2, 3, 4});
  EXPECT_NEAR(interval.low, 2 - 2.447 * 0.91287, 1e-3);
  EXPECT_NEAR(interval.high, 2 + 2.447 * 0.91287, 1e-3);
  const std::vector<double> same = {1, 1};
  EXPECT_EQ(StudentInterval(same, same).high, 0);
}

TEST(CanSeparateTest, ProbabilityIsTwoInAllSplits) {
  EXPECT_FALSE(CanSeparate(3, 3));  // 2 in 20
  EXPECT_TRUE(CanSeparate(4, 4));   // 2 in 70
  EXPECT_TRUE(CanSeparate(3, 5));   // 2 in 56
  EXPECT_FALSE(CanSeparate(1, 39));
}

}  // namespace
}  // namespace gandem
