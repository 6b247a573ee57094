// SPDX-License-Identifier: Apache-2.0
#include "evaluation/judging/statistics_subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evaluation/commands/evaluate_command.h"
#include "evaluation/metrics/frechet_distance.h"
#include "models/torch.h"
#include "tests/evaluation/metrics/random_features.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::RandomNormal;
using ::gandem::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kStatisticsDim = 6;

FeatureStatistics StatisticsOf(uint64_t seed) {
  return {.moments =
              *MomentsOf(RandomNormal(50, kStatisticsDim, seed) + 0.1 * seed),
          .net_name = "net",
          .net_sha256 = std::string(64, 'a'),
          .resize = "some resize"};
}

class StatisticsSubjectTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name,
                    const FeatureStatistics& statistics) {
    const std::string path = dir_ / name;
    EXPECT_OK(WriteStatistics(path, statistics, *StatisticsFormatOf(path)));
    return path;
  }
  EvaluateRequest Request(const std::string& source,
                          const std::string& reference) {
    EvaluateRequest request;
    request.subject.source = source;
    request.reference = reference;
    request.output = dir_ / "cards";
    return request;
  }
  std::vector<std::string> Warnings(const MetricCard& card) {
    return {card.warnings().begin(), card.warnings().end()};
  }

  gandem::testing::TempDir dir_;
};

TEST_F(StatisticsSubjectTest, TwoFilesNeedNoNetwork) {
  const FeatureStatistics a = StatisticsOf(1);
  const FeatureStatistics b = StatisticsOf(2);
  ASSERT_OK_AND_ASSIGN(const EvaluateReport report,
                       RunEvaluateCommand(Request(Write("a.safetensors", a),
                                                  Write("b.safetensors", b))));
  ASSERT_OK_AND_ASSIGN(const double expected,
                       FrechetDistance(a.moments, b.moments));
  ASSERT_EQ(report.card.metrics_size(), 1);
  const Metric& metric = report.card.metrics(0);
  EXPECT_EQ(metric.name(), "FD(net)");
  EXPECT_NEAR(metric.value(), expected, 1e-9 * expected);
  EXPECT_EQ(metric.num_images(), 50);
  EXPECT_FALSE(metric.has_sd());
  EXPECT_EQ(report.card.images().kind(), "statistics");
  EXPECT_EQ(report.card.features().resize(), "some resize");
  EXPECT_THAT(Warnings(report.card), Not(Contains(HasSubstr("does not say"))));
  ASSERT_OK_AND_ASSIGN(const EvaluateReport again,
                       RunEvaluateCommand(Request(dir_ / "a.safetensors",
                                                  dir_ / "b.safetensors")));
  EXPECT_TRUE(again.was_there);
}

// Files of pytorch-fid name neither network nor resize; ours name both.
TEST_F(StatisticsSubjectTest, WarnsOfAssumptions) {
  const std::string a = Write("a.npz", StatisticsOf(1));
  const std::string b = Write("b.npz", StatisticsOf(2));
  ASSERT_OK_AND_ASSIGN(const EvaluateReport both,
                       RunEvaluateCommand(Request(a, b)));
  EXPECT_EQ(both.card.metrics(0).name(), "FD(network not named)");
  EXPECT_EQ(both.card.features().resize(), "");
  for (const std::string& name : {a, b}) {
    EXPECT_THAT(
        Warnings(both.card),
        Contains(HasSubstr(name + " does not say which network it was made "
                                  "with; it is assumed to be that of the "
                                  "other side")));
    EXPECT_THAT(Warnings(both.card),
                Contains(HasSubstr(name + " does not say how its images")));
    EXPECT_THAT(Warnings(both.card),
                Contains(HasSubstr(name + " does not say how many images")));
  }
  EvaluateRequest named = Request(a, b);
  named.input_resize = "clean";
  ASSERT_OK_AND_ASSIGN(const EvaluateReport told, RunEvaluateCommand(named));
  EXPECT_EQ(told.card.features().resize(),
            InputResizeText(InputResize::kClean));
  ASSERT_OK_AND_ASSIGN(
      const EvaluateReport one,
      RunEvaluateCommand(Request(a, Write("b.safetensors", StatisticsOf(2)))));
  EXPECT_EQ(one.card.metrics(0).name(), "FD(net)");
  EXPECT_NEAR(one.card.metrics(0).value(), both.card.metrics(0).value(), 1e-9);
}

TEST_F(StatisticsSubjectTest, OtherNetworksAndResizesAreRefused) {
  const std::string a = Write("a.safetensors", StatisticsOf(1));
  FeatureStatistics other = StatisticsOf(2);
  other.net_sha256 = std::string(64, 'b');
  EXPECT_THAT(
      RunEvaluateCommand(Request(a, Write("net.safetensors", other))).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("a distance between them means nothing")));
  other = StatisticsOf(2);
  other.resize = "another";
  EXPECT_THAT(
      RunEvaluateCommand(Request(a, Write("size.safetensors", other))).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("they must agree (--input_resize)")));
  other.moments = *MomentsOf(RandomNormal(50, kStatisticsDim + 1, 3));
  EXPECT_THAT(RunEvaluateCommand(Request(a, Write("dim.npz", other))).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("features with 7 numbers, net gives 6")));
}

TEST_F(StatisticsSubjectTest, RefusesRequestsThatNeedImages) {
  const std::string a = Write("a.npz", StatisticsOf(1));
  EvaluateRequest request = Request(a, a);
  request.metrics = "fid,kid";
  EXPECT_THAT(RunEvaluateCommand(request).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--metric fid,kid asks for more than a "
                                 "Frechet distance")));
  request.metrics = "fid";
  request.num = 10;
  request.resize = "area";
  request.save_statistics = dir_ / "c.npz";
  const absl::Status refused = RunEvaluateCommand(request).status();
  for (const char* option : {"--num", "--resize", "--save_statistics"}) {
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr(option)));
  }
  EXPECT_THAT(RunEvaluateCommand(Request(a, "")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("needs a --reference")));
  request = Request(a, a);
  request.subject.seed = 1;
  EXPECT_THAT(RunEvaluateCommand(request).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("holds statistics: --checkpoint, --seed")));
}

}  // namespace
}  // namespace gandem
