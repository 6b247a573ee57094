// SPDX-License-Identifier: Apache-2.0
#include "control_plane/reports/compare_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;

class CompareCommandTest : public ::testing::Test {
 protected:
  using Change = std::pair<absl::string_view, absl::string_view>;

  // In the recipe, replaces the first text of `change` by the second.
  std::string MakeRun(const std::string& folder, const Change& change,
                      double value) {
    const std::string run = absl::StrCat(dir_.path(), "/", folder);
    EXPECT_OK(CreateDirectories(run + "/evaluation"));
    const std::string recipe = absl::StrCat(std::getenv("GANDEM_SOURCE_DIR"),
                                            "/recipes/mlp_smoke.textproto");
    EXPECT_OK(WriteFile(run + "/config.textproto",
                        absl::StrReplaceAll(*ReadFile(recipe), {change})));
    MetricCard card;
    Metric& metric = *card.add_metrics();
    metric.set_name("FD(net)");
    metric.set_value(value);
    metric.set_sd(0.5);
    card.mutable_images()->mutable_generator()->set_step(4);
    EXPECT_OK(WriteMetricCard(run + "/evaluation/step-4", card));
    return run;
  }

  const TempDir dir_;
  std::ostringstream out_;
};

TEST_F(CompareCommandTest, TheAnswerIsInWords) {
  const std::string a = MakeRun("a", {"lag: 1", "lag: 1"}, 10);
  const std::string b = MakeRun("b", {"lag: 1", "lag: 3"}, 20);
  ASSERT_OK(RunCompare({.run_dirs = {b, a}}, out_));
  EXPECT_THAT(out_.str(), HasSubstr("FD(net), lower is better"));
  EXPECT_THAT(out_.str(), HasSubstr(absl::StrCat("Yes for these two runs: ", a,
                                                 " is better than ", b)));
}

TEST_F(CompareCommandTest, RunsThatDifferOnlyInTheSeedAreOneSide) {
  const std::string a = MakeRun("a", {"lag: 1", "lag: 1"}, 10);
  const std::string b =
      MakeRun("b", {"name: \"mlp_smoke\"", "name: \"b\" seed: 77"}, 20);
  ASSERT_OK(RunCompare({.run_dirs = {a, b}, .json = true}, out_));
  const auto json = nlohmann::json::parse(out_.str());
  ASSERT_EQ(json["sides"].size(), 1);
  EXPECT_EQ(json["sides"][0]["mean"], 15);
  EXPECT_EQ(json["sides"][0]["interval_of"], "2 seeds");
  EXPECT_TRUE(json["verdicts"].empty());
}

TEST_F(CompareCommandTest, AFolderWithoutARunIsNotFound) {
  EXPECT_THAT(RunCompare({.run_dirs = {dir_.path(), dir_.path()}}, out_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("holds no run")));
}

}  // namespace
}  // namespace gandem
