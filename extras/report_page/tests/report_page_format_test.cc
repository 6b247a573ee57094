// SPDX-License-Identifier: Apache-2.0
//
// The data in a page equal those in the files of the run folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/files/png.h"
#include "common/files/proto_json.h"
#include "control_plane/reports/report_command.h"
#include "proto/metrics.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using Json = nlohmann::ordered_json;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;

class ReportPageFormatTest : public ::testing::Test {
 protected:
  // A run of four rounds in two run epochs, with a grid and a card.
  std::string MakeRun(const std::string& folder) {
    const std::string run = absl::StrCat(dir_.path(), "/", folder);
    EXPECT_OK(CreateDirectories(run + "/samples"));
    EXPECT_OK(CreateDirectories(run + "/evaluation"));
    const std::string recipe = absl::StrCat(std::getenv("GANDEM_SOURCE_DIR"),
                                            "/recipes/mlp_smoke.textproto");
    EXPECT_OK(WriteFile(run + "/config.textproto", *ReadFile(recipe)));
    std::string lines;
    for (const Role role : {DISCRIMINATOR, GENERATOR}) {
      AddLine(role, 1, 0, lines);
      AddLine(role, 1, 1, lines);
      AddLine(role, 1, 2, lines);
      AddLine(role, 2, 1, lines);
      AddLine(role, 2, 2, lines);
      AddLine(role, 2, 3, lines);
    }
    EXPECT_OK(WriteFile(run + "/metrics.jsonl", lines + "cut of"));
    EXPECT_OK(WritePng(run + "/samples/round-000002.png",
                       {.height = 1, .width = 1, .pixels = {7}}));
    MetricCard card;
    Metric& metric = *card.add_metrics();
    metric.set_name("FD(net)");
    metric.set_value(12.5);
    metric.set_sd(0.5);
    card.mutable_images()->mutable_generator()->set_step(4);
    EXPECT_OK(WriteMetricCard(run + "/evaluation/step-4", card));
    return run;
  }
  static void AddLine(Role role, int64_t epoch, int64_t round,
                      std::string& lines) {
    RoundMetrics metrics;
    metrics.set_role(role);
    metrics.set_run_epoch(epoch);
    metrics.set_round(round);
    metrics.set_workers(1);
    metrics.set_images(16);
    metrics.set_round_seconds(0.5);
    metrics.set_unix_seconds(static_cast<double>(100 * epoch + round));
    metrics.set_loss(static_cast<double>(10 * epoch + round));
    absl::StrAppend(&lines, ProtoJson(metrics), "\n");
  }
  Json PageOf(std::vector<std::string> runs) {
    const std::string path = dir_.path() + "/report.html";
    EXPECT_OK(RunReport({.run_dirs = std::move(runs), .html = path}, out_));
    const std::string page = *ReadFile(path);
    const std::string start = R"(id="data">)";
    const size_t from = page.find(start) + start.size();
    return Json::parse(page.substr(from, page.find("</script>", from) - from));
  }

  const TempDir dir_;
  std::ostringstream out_;
};

TEST_F(ReportPageFormatTest, ThePageHasTheDataOfTheFiles) {
  const std::string run_dir = MakeRun("a");
  const Json run = PageOf({run_dir})["runs"][0];
  ASSERT_OK_AND_ASSIGN(const RunConfig config,
                       LoadRunConfig(run_dir + "/config.textproto", {}));
  EXPECT_EQ(run["name"], config.name());
  EXPECT_EQ(run["recipe"], EffectiveConfigText(config));
  EXPECT_EQ(run["rounds_wanted"], config.rounds());
  EXPECT_EQ(run["rounds_done"], 4);
  EXPECT_EQ(run["images"], 64);
  EXPECT_EQ(run["seconds"], 2);
  // The second run epoch repeated rounds 1 and 2; its values count.
  EXPECT_EQ(run["roles"]["discriminator"]["loss"], Json({10, 21, 22, 23}));
  EXPECT_EQ(run["roles"]["generator"]["loss"], Json({10, 21, 22, 23}));
  EXPECT_EQ(run["epochs"][1]["first_round"], 1);
  EXPECT_EQ(run["epochs"][1]["rounds_done_again"], 2);
  EXPECT_EQ(run["epochs"][1]["gap_seconds"], 201 - 102);
  EXPECT_EQ(run["samples"][0]["round"], 2);
  EXPECT_EQ(run["samples"][0]["images"], 32);
  EXPECT_EQ(run["curves"][0]["metric"], "FD(net)");
  EXPECT_EQ(run["curves"][0]["value"][0], 12.5);
  EXPECT_EQ(run["curves"][0]["sd"][0], 0.5);
  EXPECT_EQ(run["curves"][0]["images"][0], 64);
  EXPECT_EQ(run["curves"][0]["best_round"], 4);
  EXPECT_THAT(run["notes"][0].get<std::string>(), HasSubstr("1 lines"));
  EXPECT_THAT(out_.str(), HasSubstr("report.html"));
}

TEST_F(ReportPageFormatTest, RunsWithEqualNamesAreDistinguished) {
  const std::string a = MakeRun("a");
  const std::string b = MakeRun("b");
  const Json runs = PageOf({a, b})["runs"];
  ASSERT_EQ(runs.size(), 2);
  EXPECT_THAT(runs[0]["name"].get<std::string>(), HasSubstr(a));
  EXPECT_THAT(runs[1]["name"].get<std::string>(), HasSubstr(b));
}

TEST_F(ReportPageFormatTest, UnwritablePagesAreNamed) {
  const absl::Status status = RunReport(
      {.run_dirs = {MakeRun("a")}, .html = dir_.path() + "/none/report.html"},
      out_);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("none/report.html"));
}

}  // namespace
}  // namespace gandem
