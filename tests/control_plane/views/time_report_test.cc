// SPDX-License-Identifier: Apache-2.0
//
// Reports on hand-written metrics with known numbers.
#include "common/results/time_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control_plane/views/time_report_text.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using Json = nlohmann::json;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kTiny = 1e-12;

// 1 s: 0.5 s computing, 0.1 s exposed and 0.3 s hidden communication.
const RoundTimes kSecond = {.round = 1,
                            .images = 0.2,
                            .feedback = 0.1,
                            .data = 0.06,
                            .cache = 0.04,
                            .sync = 0.1,
                            .hidden_sync = 0.3};

class TimeReportTest : public ::testing::Test {
 protected:
  TimeReportTest() {
    facts_.name = "test";
    facts_.generator_batch = 48;
    facts_.discriminator_batch = 48;
    facts_.dataset_images = 6000;
  }

  void Add(Role role, int rank, int workers, int64_t round,
           const RoundTimes& times, int64_t epoch = 1) {
    const Json json = {
        {"role", role == GENERATOR ? "generator" : "discriminator"},
        {"rank", rank},
        {"workers", workers},
        {"round", round},
        {"run_epoch", epoch},
        {"images", 24},
        {"sync_bytes", 1000 * (rank + 1)},
        {"round_seconds", times.round},
        {"wait_images_seconds", times.images},
        {"wait_feedback_seconds", times.feedback},
        {"wait_data_seconds", times.data},
        {"wait_cache_seconds", times.cache},
        {"wait_sync_seconds", times.sync},
        {"hidden_sync_seconds", times.hidden_sync},
        {"data",
         {{"fetch_stall_seconds", times.data_fetch},
          {"decode_stall_seconds", times.data_decode},
          {"transform_stall_seconds", times.data_transform},
          {"processor_seconds", times.data_taken}}}};
    history_.AddLine(json.dump());
  }
  // Adds rounds with equal times for all workers of both roles.
  void AddRounds(int workers, int64_t first, int64_t end,
                 const RoundTimes& times = kSecond, int64_t epoch = 1) {
    for (int64_t round = first; round < end; ++round) {
      for (const Role role : {GENERATOR, DISCRIMINATOR}) {
        for (int rank = 0; rank < workers; ++rank) {
          Add(role, rank, workers, round, times, epoch);
        }
      }
    }
  }
  void AddWorker(Role role, int rank, const std::string& host) {
    WorkerStatus& worker = *facts_.workers.add_workers();
    worker.set_role(role);
    worker.set_rank(rank);
    worker.set_host(host);
  }
  TimeReport Report() {
    auto report = MakeTimeReport(facts_, history_);
    EXPECT_OK(report);
    return *std::move(report);
  }

  RunFacts facts_;
  RoundHistory history_;
};

TEST_F(TimeReportTest, ShowsTheGradientNoiseScale) {
  AddRounds(/*workers=*/1, 0, 40);
  EXPECT_THAT(TimeReportText(Report()), Not(HasSubstr("noise scale")));
  for (int64_t round = 20; round < 40; ++round) {
    const double noise = 8 + 0.1 * static_cast<double>(round % 3);
    const Json squares = {{"part", "generated"},
                          {"small_images", 2},
                          {"large_images", 4},
                          {"small_square", 2 + noise / 2},
                          {"large_square", 2 + noise / 4}};
    Json line = {{"role", "generator"}, {"round", round}, {"run_epoch", 1},
                 {"workers", 1},        {"images", 24},   {"round_seconds", 1}};
    line["gradient_noise"] = Json::array();
    line["gradient_noise"].push_back(squares);
    history_.AddLine(line.dump());
  }
  const TimeReport report = Report();
  EXPECT_THAT(TimeReportText(report),
              HasSubstr("gradient noise scale of the generator on generated "
                        "images: 4.05 images ("));
  const Json json = Json::parse(TimeReportsJson({&report, 1}));
  const Json& scale = json.at("runs").at(0).at("gradient_noise_scale").at(0);
  EXPECT_EQ(scale.at("part"), "generated");
  EXPECT_NEAR(scale.at("images").get<double>(), 4.05, 0.01);
  EXPECT_LT(scale.at("low").get<double>(), scale.at("high").get<double>());
}

TEST_F(TimeReportTest, NumbersComeFromTheMetrics) {
  AddRounds(/*workers=*/2, 0, 100);
  AddWorker(GENERATOR, 0, "a");
  AddWorker(GENERATOR, 1, "b");
  AddWorker(DISCRIMINATOR, 0, "a");
  AddWorker(DISCRIMINATOR, 1, "a");
  const TimeReport report = Report();
  EXPECT_EQ(report.hosts, 2);
  EXPECT_EQ(report.first_round, 10);
  EXPECT_EQ(report.last_round, 99);
  EXPECT_EQ(report.warm_up_rounds, 10);
  EXPECT_FALSE(report.has_other_shapes);
  ASSERT_THAT(report.roles, SizeIs(2));
  const RoleTimes& discriminator = report.roles[1];
  EXPECT_EQ(discriminator.role, DISCRIMINATOR);
  EXPECT_EQ(discriminator.workers, 2);
  EXPECT_EQ(discriminator.hosts, 1);
  EXPECT_EQ(report.roles[0].hosts, 2);
  EXPECT_EQ(discriminator.global_batch, 48);
  EXPECT_EQ(discriminator.batch_per_worker(), 24);
  EXPECT_NEAR(discriminator.row.images_per_second, 48, kTiny);
  EXPECT_NEAR(discriminator.epoch_seconds, 6000.0 / 48, kTiny);
  EXPECT_EQ(report.roles[0].epoch_seconds, 0);
  EXPECT_EQ(discriminator.row.rounds, 2 * 90);
  EXPECT_NEAR(discriminator.row.times.round, 180, 1e-9);
  EXPECT_NEAR(discriminator.row.times.compute(), 90, 1e-9);
  EXPECT_NEAR(discriminator.row.times.overlap(), 0.75, kTiny);
  EXPECT_EQ(discriminator.row.sync_bytes_per_round, 1500);
  ASSERT_THAT(discriminator.ranks, SizeIs(2));
  EXPECT_EQ(discriminator.ranks[1].rank, 1);
  EXPECT_NEAR(discriminator.ranks[1].row.images_per_second, 24, kTiny);
  EXPECT_EQ(discriminator.ranks[1].row.sync_bytes_per_round, 2000);
  EXPECT_NEAR(report.times.round, 360, 1e-9);
}

TEST_F(TimeReportTest, SharesAddUpTo100) {
  for (int64_t round = 0; round < 60; ++round) {
    const double x = 0.01 * static_cast<double>(round);
    for (const Role role : {GENERATOR, DISCRIMINATOR}) {
      Add(role, 0, 1, round,
          {.round = 2 + x,
           .images = x / 3,
           .feedback = x / 7,
           .data = 0.1 * x,
           .cache = 0.01,
           .sync = 0.3 * x,
           .hidden_sync = 1.5 * x});
    }
  }
  const TimeReport report = Report();
  const Json json = Json::parse(TimeReportsJson({&report, 1}));
  for (const Json& role : json.at("runs").at(0).at("roles")) {
    double sum = 0;
    for (const char* const part :
         {"compute_percent", "communication_percent", "wait_images_percent",
          "wait_feedback_percent", "wait_data_percent", "wait_cache_percent"}) {
      EXPECT_GT(role.at(part), 0) << part;
      sum += role.at(part).get<double>();
    }
    EXPECT_NEAR(sum, 100, 1e-9);
    EXPECT_NEAR(role.at("overlap_percent"), 100 * 1.5 / 1.8, 1e-9);
  }
}

// Each third of a round is 33.3%.
TEST_F(TimeReportTest, PrintedSharesAddUpTo100) {
  for (int64_t round = 0; round < 10; ++round) {
    for (const Role role : {GENERATOR, DISCRIMINATOR}) {
      Add(role, 0, 1, round, {.round = 3, .images = 1, .feedback = 1});
    }
  }
  const std::string text = TimeReportText(Report());
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty() ||
        (words[0] != "generator" && words[0] != "discriminator"))
      continue;
    ++lines;
    double sum = 0;
    for (const std::string& word : words) {
      double share = 0;
      absl::string_view number = word;
      if (absl::ConsumeSuffix(&number, "%") && absl::SimpleAtod(number, &share))
        sum += share;
    }
    // Six rounded numbers.
    EXPECT_NEAR(sum, 100, 0.3 + 1e-9) << line;
  }
  EXPECT_EQ(lines, 2);
}

TEST_F(TimeReportTest, LimitingRoleIsNamed) {
  for (int64_t round = 0; round < 10; ++round) {
    Add(GENERATOR, 0, 1, round, {.round = 4, .feedback = 3});
    Add(DISCRIMINATOR, 0, 1, round, {.round = 4});
  }
  const TimeReport report = Report();
  const std::string limit =
      "the discriminator limits the run: it works 100.0% of the time and the "
      "generator 25.0%; a second discriminator worker with cores of its own "
      "would give up to 2.00 times the images/s";
  EXPECT_THAT(TimeReportText(report), HasSubstr("limit: " + limit + "\n"));
  EXPECT_EQ(
      Json::parse(TimeReportsJson({&report, 1})).at("runs").at(0).at("limit"),
      limit);
}

TEST_F(TimeReportTest, MedianAndNearestRankPercentile) {
  // Rounds 10 to 49 count: 1 to 40 seconds, shuffled.
  for (int64_t round = 0; round < 50; ++round) {
    const double seconds =
        round < 10 ? 1000 : static_cast<double>(1 + (round * 7) % 40);
    for (const Role role : {GENERATOR, DISCRIMINATOR}) {
      Add(role, 0, 1, round, {.round = seconds});
    }
  }
  const TimeRow row = Report().roles[0].row;
  EXPECT_EQ(row.rounds, 40);
  EXPECT_EQ(row.median_round_seconds, 20.5);
  EXPECT_EQ(row.p95_round_seconds, 38);
  EXPECT_EQ(row.times.round, 820);
}

TEST_F(TimeReportTest, WarmUpIsAtMostAFifthOfEachRunEpoch) {
  AddRounds(1, 0, 20, {.round = 1});
  TimeReport report = Report();
  EXPECT_EQ(report.warm_up_rounds, 4);
  EXPECT_EQ(report.roles[0].row.rounds, 16);
  // Rounds 15 to 19 are repeated, slowly at first.
  AddRounds(1, 15, 25, {.round = 100}, /*epoch=*/2);
  AddRounds(1, 25, 100, {.round = 1}, /*epoch=*/2);
  report = Report();
  EXPECT_EQ(report.warm_up_rounds, 10);
  EXPECT_EQ(report.roles[0].row.rounds, (15 - 10) + (100 - 25));
  EXPECT_EQ(report.roles[0].row.p95_round_seconds, 1);
}

TEST_F(TimeReportTest, ShortRunsCountAllRounds) {
  AddRounds(1, 0, 3);
  EXPECT_EQ(Report().warm_up_rounds, 0);
  EXPECT_EQ(Report().roles[0].row.rounds, 3);
}

// Otherwise a run that dies every few rounds would have no rounds.
TEST_F(TimeReportTest, RunEpochsWithOnlyWarmUpCount) {
  for (int64_t epoch = 1; epoch <= 10; ++epoch) {
    AddRounds(1, 5 * (epoch - 1), 5 * epoch, {.round = 1}, epoch);
  }
  EXPECT_EQ(Report().warm_up_rounds, 0);
  EXPECT_EQ(Report().roles[0].row.rounds, 50);
}

TEST_F(TimeReportTest, OnlyTheLastFleetShapeCounts) {
  AddRounds(/*workers=*/3, 0, 50, {.round = 100});
  AddRounds(/*workers=*/2, 50, 150, {.round = 1}, /*epoch=*/2);
  const TimeReport report = Report();
  EXPECT_TRUE(report.has_other_shapes);
  EXPECT_EQ(report.first_round, 60);
  EXPECT_EQ(report.roles[0].workers, 2);
  EXPECT_THAT(report.roles[0].ranks, SizeIs(2));
  EXPECT_EQ(report.roles[0].row.median_round_seconds, 1);
  EXPECT_THAT(TimeReportText(report), HasSubstr("other numbers of workers"));
}

TEST_F(TimeReportTest, StragglersComputeATenthLonger) {
  for (int64_t round = 0; round < 10; ++round) {
    Add(GENERATOR, 0, 1, round, kSecond);
    for (int rank = 0; rank < 5; ++rank) {
      RoundTimes times = kSecond;
      // Ranks compute 0.5 s, but rank 3 0.56 s and rank 4 0.54 s.
      if (rank == 3) times.images -= 0.06;
      if (rank == 4) times.images -= 0.04;
      if (rank == 1) times.round += 1, times.feedback += 1;
      Add(DISCRIMINATOR, rank, 5, round, times);
    }
  }
  const TimeReport report = Report();
  std::vector<int> stragglers;
  for (const RankTimes& rank : report.roles[1].ranks) {
    if (rank.is_straggler) stragglers.push_back(rank.rank);
  }
  EXPECT_EQ(stragglers, std::vector<int>{3});
  EXPECT_NEAR(report.roles[1].ranks[3].over_median, 0.12, 1e-9);
  EXPECT_THAT(TimeReportText(report),
              HasSubstr("straggler: discriminator 3 computes 12% longer"));
  EXPECT_THAT(TimeReportText(report), Not(HasSubstr("straggler: generator")));
}

TEST_F(TimeReportTest, RolesWithoutRoundsAreNamed) {
  Add(GENERATOR, 0, 1, 0, kSecond);
  EXPECT_THAT(MakeTimeReport(facts_, history_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("discriminator has done no round yet")));
}

TEST_F(TimeReportTest, OldMetricsWithoutWorkersAreRead) {
  for (int rank = 0; rank < 3; ++rank) Add(GENERATOR, rank, 0, 0, kSecond);
  Add(DISCRIMINATOR, 0, 0, 0, kSecond);
  EXPECT_EQ(Report().roles[0].workers, 3);
  EXPECT_EQ(Report().roles[1].workers, 1);
}

TimeReport Shape(int generators, int64_t generator_batch, int discriminators,
                 int64_t discriminator_batch) {
  TimeReport report;
  report.roles = {{.role = GENERATOR,
                   .workers = generators,
                   .global_batch = generator_batch},
                  {.role = DISCRIMINATOR,
                   .workers = discriminators,
                   .global_batch = discriminator_batch}};
  return report;
}

TEST(ScalingTest, ScalingIsStrongWeakOrNeither) {
  const TimeReport first = Shape(1, 64, 1, 64);
  EXPECT_EQ(ScalingFrom(first, first), "-");
  EXPECT_EQ(ScalingFrom(first, Shape(1, 128, 1, 128)), "-");
  EXPECT_EQ(ScalingFrom(first, Shape(2, 64, 4, 64)), "S");
  EXPECT_EQ(ScalingFrom(first, Shape(1, 64, 2, 64)), "S");
  EXPECT_EQ(ScalingFrom(first, Shape(2, 128, 4, 256)), "W");
  EXPECT_EQ(ScalingFrom(first, Shape(1, 64, 2, 128)), "W");
  EXPECT_EQ(ScalingFrom(first, Shape(2, 64, 2, 128)), "-");
}

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

TEST_F(TimeReportTest, TheTextIsAligned) {
  AddRounds(2, 0, 100);
  TimeReport report = Report();
  report.run_dir = "runs/a";
  const std::vector<std::string> lines = Lines(TimeReportText(report));
  EXPECT_EQ(lines[0],
            "test in runs/a: rounds 10 to 99; without the first 10 rounds of "
            "each run epoch (warm-up)");
  EXPECT_THAT(lines[1], HasSubstr("overlap   comm"));
  for (size_t i = 2; i <= 7; ++i) {
    EXPECT_EQ(lines[i].size(), lines[1].size()) << lines[i];
    for (const char* const share :
         {"50.0%", "75.0%", "10.0%", "20.0%", "6.0%", "4.0%"}) {
      EXPECT_THAT(lines[i], HasSubstr(share));
    }
  }
  EXPECT_THAT(lines[5], HasSubstr("discriminator"));
  EXPECT_THAT(lines[5], HasSubstr("125.0 s"));
  EXPECT_THAT(lines[6], HasSubstr("  rank 0"));
}

TEST_F(TimeReportTest, FusedBackwardIsReported) {
  AddRounds(1, 0, 100);
  TimeReport report = Report();
  EXPECT_THAT(TimeReportText(report), Not(HasSubstr("FUSED")));
  EXPECT_TRUE(Json::parse(TimeReportsJson({&report, 1}))
                  .at("runs")
                  .at(0)
                  .at("fused_backward")
                  .is_null());
  facts_.fused_backward = "ONE_PASS";
  report = Report();
  EXPECT_THAT(TimeReportText(report), HasSubstr("; FUSED feedback, ONE_PASS"));
  EXPECT_EQ(Json::parse(TimeReportsJson({&report, 1}))
                .at("runs")
                .at(0)
                .at("fused_backward"),
            "ONE_PASS");
}

TEST_F(TimeReportTest, DataBottleneckIsReportedWithThePossibleGain) {
  AddRounds(1, 0, 50,
            {.round = 1, .data = 0.4, .data_fetch = 0.3, .data_decode = 0.1});
  const TimeReport report = Report();
  EXPECT_THAT(
      TimeReportText(report),
      HasSubstr("data: the discriminator waits for real images in 40.0% of its "
                "time, most of it for disks and networks (fetch); if they\n"
                "were there it would train on up to 40.0 images/s instead of "
                "24.0\n"));
  const Json json = Json::parse(TimeReportsJson({&report, 1}));
  const Json& parts =
      json.at("runs").at(0).at("roles").at(1).at("wait_data_parts_percent");
  EXPECT_NEAR(parts.at("fetch"), 30, 1e-9);
  EXPECT_NEAR(parts.at("decode"), 10, 1e-9);
  EXPECT_NEAR(parts.at("transform"), 0, 1e-9);
}

TEST_F(TimeReportTest, ReadingOnTrainingCoresIsReported) {
  AddRounds(1, 0, 50, {.round = 1, .data_taken = 0.04});
  const TimeReport report = Report();
  EXPECT_THAT(
      TimeReportText(report),
      HasSubstr("cores: all cores of the discriminator train, and making "
                "real images ready takes 4.0% of\none of them; with "
                "another core it would train on up to 25.0 images/s "
                "instead of 24.0.\n"));
  const Json json = Json::parse(TimeReportsJson({&report, 1}));
  EXPECT_NEAR(json.at("runs").at(0).at("roles").at(1).at(
                  "data_on_training_cores_percent"),
              4, 1e-9);
  history_ = RoundHistory();
  AddRounds(1, 0, 50, {.round = 1, .data_taken = 0.009});
  EXPECT_THAT(TimeReportText(Report()), Not(HasSubstr("cores: ")));
}

TEST(RoundTimesTest, FreeCoresReadBeforeTrainingCores) {
  RoundMetrics metrics;
  metrics.set_round_seconds(2);
  metrics.mutable_data()->set_processor_seconds(2.5);
  EXPECT_DOUBLE_EQ(TimesOf(metrics).data_taken, 2.5);
  metrics.mutable_data()->set_free_cores(1);
  EXPECT_DOUBLE_EQ(TimesOf(metrics).data_taken, 0.5);
  metrics.mutable_data()->set_free_cores(2);
  EXPECT_DOUBLE_EQ(TimesOf(metrics).data_taken, 0);
}

TEST_F(TimeReportTest, ShortWaitsForDataAreNotABottleneck) {
  AddRounds(1, 0, 50, {.round = 1, .data = 0.049, .data_fetch = 0.049});
  EXPECT_THAT(TimeReportText(Report()), Not(HasSubstr("data: ")));
}

TEST_F(TimeReportTest, RunsAreShownSideBySide) {
  AddRounds(1, 0, 100);
  std::vector<TimeReport> reports = {Report()};
  reports[0].run_dir = "runs/one";
  history_ = RoundHistory();
  AddRounds(2, 0, 100);
  reports.push_back(Report());
  reports[1].run_dir = "runs/two";
  const std::vector<std::string> lines = Lines(ScalingText(reports));
  EXPECT_THAT(lines[1], HasSubstr("runs/one"));
  EXPECT_THAT(lines[1], HasSubstr("1+1"));
  EXPECT_THAT(lines[1], HasSubstr("1.00"));
  EXPECT_THAT(lines[2], HasSubstr("2+2    S"));
  EXPECT_THAT(lines[2], HasSubstr("2.00"));
  const Json json = Json::parse(TimeReportsJson(reports));
  EXPECT_EQ(json.at("runs").at(1).at("scaling"), "S");
  EXPECT_EQ(json.at("runs").at(0).at("nodes"), Json());
}

TEST_F(TimeReportTest, UnknownValuesAreDashesOrNull) {
  facts_.dataset_images = 0;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    Add(role, 0, 1, 0, {.round = 1});
  }
  const TimeReport report = Report();
  const Json json = Json::parse(TimeReportsJson({&report, 1}));
  const Json& discriminator = json.at("runs").at(0).at("roles").at(1);
  EXPECT_TRUE(discriminator.at("epoch_seconds").is_null());
  EXPECT_TRUE(discriminator.at("overlap_percent").is_null());
  EXPECT_EQ(discriminator.at("compute_percent"), 100);
}

}  // namespace
}  // namespace gandem
