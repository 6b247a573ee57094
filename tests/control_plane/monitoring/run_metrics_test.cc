// SPDX-License-Identifier: Apache-2.0
//
// The exported metrics, and their names in the documentation, the alert rules
// and the dashboard.
#include "control_plane/monitoring/run_metrics.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using Json = nlohmann::json;
using prometheus::MetricType;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

std::string Source(const std::string& name) {
  const char* const root = std::getenv("GANDEM_SOURCE_DIR");
  const auto text =
      ReadFile(absl::StrCat(root == nullptr ? "." : root, "/", name));
  EXPECT_OK(text);
  return text.value_or("");
}

std::set<std::string> Matches(const std::string& text,
                              const std::string& pattern, int group = 0) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end;
       ++it) {
    found.insert((*it)[group].str());
  }
  return found;
}

const char* TypeName(MetricType type) {
  return type == MetricType::Counter ? "counter" : "gauge";
}

RunSnapshot FullSnapshot() {
  RunSnapshot run;
  run.status.set_run_name("mnist \"1\"");
  run.status.set_state(StatusReply::RUNNING);
  run.status.set_rounds(1000);
  run.status.set_completed_rounds(40);
  run.status.set_restarts(2);
  run.status.set_rollbacks(1);
  run.status.set_last_checkpoint_step(30);
  WorkerStatus* const worker = run.status.add_workers();
  worker->set_role(DISCRIMINATOR);
  worker->set_rank(1);
  worker->set_host("alpha");
  worker->set_state(WorkerStatus::RUNNING);
  worker->set_silent_seconds(0.25);
  worker->set_resident_bytes(1 << 20);
  run.status.add_workers()->set_role(GENERATOR);
  run.status.mutable_workers(1)->set_state(WorkerStatus::ABSENT);
  RoundMetrics metrics;
  metrics.set_role(DISCRIMINATOR);
  metrics.set_rank(1);
  metrics.set_run_epoch(1);
  metrics.set_round(39);
  metrics.set_loss(0.75);
  metrics.set_lag(3);
  metrics.set_images(64);
  metrics.set_round_seconds(2);
  metrics.set_wait_data_seconds(0.5);
  metrics.set_unix_seconds(1e9);
  run.totals.Add(metrics);
  run.folder = {.free_bytes = 1 << 30,
                .size_bytes = int64_t{4} << 30,
                .checkpoint_time = absl::FromUnixSeconds(1000000000)};
  run.own_bytes = 7 << 20;
  return run;
}

std::set<std::string> Exported() {
  std::set<std::string> names;
  for (const auto& family : RunMetrics({})) names.insert(family.name);
  return names;
}

TEST(RunMetricsTest, ASnapshotAsPrometheusReadsIt) {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, RunMetrics(FullSnapshot()));
  const std::string text = out.str();
  for (const char* const line :
       {"gandem_run_info{run=\"mnist \\\"1\\\"\",version=",
        "gandem_run_state{state=\"running\"} 1\n",
        "gandem_run_state{state=\"failed\"} 0\n",
        "gandem_completed_rounds 40\n",
        "gandem_restarts_total 2\n",
        "gandem_rollbacks_total 1\n",
        "gandem_workers{role=\"discriminator\",state=\"running\"} 1\n",
        "gandem_workers{role=\"generator\",state=\"absent\"} 1\n",
        "gandem_worker_silent_seconds{role=\"discriminator\",rank=\"1\"} "
        "0.25\n",
        "gandem_worker_resident_bytes{role=\"discriminator\",rank=\"1\","
        "host=\"alpha\"} 1048576\n",
        "gandem_coordinator_resident_bytes 7340032\n",
        "gandem_rounds_total{role=\"discriminator\"} 1\n",
        "gandem_images_total{role=\"discriminator\"} 64\n",
        "gandem_wait_seconds_total{role=\"discriminator\",for=\"data\"} 0.5\n",
        "gandem_waiting_share{role=\"discriminator\"} 0.25\n",
        "gandem_loss{role=\"discriminator\",rank=\"1\"} 0.75\n",
        "gandem_lag_rounds{role=\"discriminator\",rank=\"1\"} 3\n",
        "gandem_checkpoint_rounds 30\n",
        "gandem_checkpoint_timestamp_seconds 1000000000\n",
        "gandem_run_folder_free_bytes 1073741824\n",
        "# TYPE gandem_images_total counter\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("silent_seconds{role=\"generator\"")))
      << "nobody is silent who is not there";
}

TEST(FolderFactsTest, ACheckpointIsAsOldAsItsManifest) {
  const testing::TempDir run_dir;
  const std::string path = CheckpointPath(run_dir.path(), 5);
  const std::string manifest = path + "/" + kManifestName;
  ASSERT_OK(CreateDirectories(path));
  ASSERT_OK(WriteFile(manifest, ""));
  const timespec times[2] = {{1000000000, 0}, {1000000007, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, manifest.c_str(), times, 0), 0);
  const FolderFacts facts = ReadFolderFacts(run_dir.path(), 5);
  EXPECT_EQ(facts.checkpoint_time, absl::FromUnixSeconds(1000000007));
  EXPECT_GT(facts.size_bytes.value_or(0), 0);
  EXPECT_LE(facts.free_bytes, facts.size_bytes);
  EXPECT_FALSE(ReadFolderFacts(run_dir.path(), 0).checkpoint_time.has_value());
}

TEST(FolderFactsTest, AFolderThatIsGoneTellsNothing) {
  const FolderFacts facts = ReadFolderFacts("/no/such/run", 5);
  EXPECT_FALSE(facts.size_bytes.has_value());
  EXPECT_FALSE(facts.checkpoint_time.has_value());
}

TEST(RunMetricsTest, EverySampleOfARunHasAName) {
  for (const auto& family : RunMetrics(FullSnapshot())) {
    EXPECT_THAT(family.metric, Not(IsEmpty())) << family.name;
  }
}

TEST(RunMetricsTest, NamesFollowPrometheusConventions) {
  const std::regex name("gandem_[a-z]+(_[a-z]+)*");
  std::set<std::string> seen;
  for (const auto& family : RunMetrics({})) {
    EXPECT_TRUE(std::regex_match(family.name, name)) << family.name;
    EXPECT_TRUE(seen.insert(family.name).second) << family.name << " twice";
    EXPECT_EQ(family.type == MetricType::Counter,
              absl::EndsWith(family.name, "_total"))
        << family.name;
    EXPECT_THAT(family.help, Not(IsEmpty())) << family.name;
  }
}

TEST(RunMetricsTest, ThePageListsWhatIsExported) {
  // | `name` | type | labels | what |
  const std::set<std::string> rows =
      Matches(Source("docs/how_to/monitoring.md"),
              "\\| `(gandem_\\w+)` \\| (counter|gauge) \\| ([^|]*) \\|");
  std::set<std::string> expected;
  for (const auto& family : RunMetrics(FullSnapshot())) {
    std::vector<std::string> labels;
    for (const auto& label : family.metric.front().label) {
      labels.push_back("`" + label.name + "`");
    }
    expected.insert(absl::StrCat("| `", family.name, "` | ",
                                 TypeName(family.type), " | ",
                                 absl::StrJoin(labels, ", "), " |"));
  }
  EXPECT_EQ(rows, expected);
}

TEST(RunMetricsTest, RulesNameWhatIsExported) {
  const std::string rules = Source("deploy/prometheus/rules.yml");
  EXPECT_THAT(Exported(), IsSupersetOf(Matches(rules, "\\bgandem_\\w+")));
  EXPECT_THAT(Matches(rules, "- alert: Gandem\\w+"), SizeIs(12));
}

TEST(RunMetricsTest, EveryAlertHasASectionOnThePage) {
  const std::string page = Source("docs/how_to/monitoring.md");
  for (const std::string& alert :
       Matches(Source("deploy/prometheus/rules.yml"), "- alert: (\\w+)", 1)) {
    EXPECT_THAT(page, HasSubstr("`" + alert + "`"));
  }
}

TEST(RunMetricsTest, EveryDashboardQueryUsesExportedMetrics) {
  const Json dashboard = Json::parse(Source("deploy/grafana/gandem.json"));
  const std::set<std::string> recorded =
      Matches(Source("deploy/prometheus/rules.yml"), "- record: (\\S+)", 1);
  std::vector<std::string> queries;
  for (const Json& panel : dashboard.at("panels")) {
    for (const Json& target : panel.at("targets")) {
      queries.push_back(target.at("expr"));
    }
  }
  for (const Json& variable : dashboard.at("templating").at("list")) {
    if (variable.at("type") == "query") queries.push_back(variable.at("query"));
  }
  std::set<std::string> used;
  for (const std::string& query : queries) {
    const std::set<std::string> names = Matches(query, "\\bgandem[\\w:]+");
    EXPECT_THAT(names, Not(IsEmpty())) << query;
    used.insert(names.begin(), names.end());
  }
  EXPECT_TRUE(used.contains("gandem_run_info"));
  std::set<std::string> known = Exported();
  known.insert(recorded.begin(), recorded.end());
  EXPECT_THAT(known, IsSupersetOf(used));
  EXPECT_THAT(used, IsSupersetOf(recorded));
}

}  // namespace
}  // namespace gandem
