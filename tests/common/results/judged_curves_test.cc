// SPDX-License-Identifier: Apache-2.0
#include "common/results/judged_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::HasSubstr;

class JudgedCurvesTest : public ::testing::Test {
 protected:
  static MetricCard Card(int64_t step, double value) {
    MetricCard card;
    Metric& metric = *card.add_metrics();
    metric.set_name("FD(net)");
    metric.set_value(value);
    metric.set_num_images(100);
    card.mutable_images()->mutable_generator()->set_step(step);
    card.mutable_features()->set_network("net");
    card.mutable_reference()->set_name("set");
    card.set_unix_seconds(1);
    return card;
  }
  void Write(const std::string& name, const MetricCard& card) {
    ASSERT_OK(WriteMetricCard(absl::StrCat(dir_.path(), "/", name), card));
  }

  const TempDir dir_;
};

TEST_F(JudgedCurvesTest, PointsAreSortedByStepAndTheFirstBestIsMarked) {
  Write("c", Card(30, 5));
  Write("b", Card(20, 4));
  Write("a", Card(10, 4));
  ASSERT_OK_AND_ASSIGN(const JudgedCurves judged,
                       ReadJudgedCurves(dir_.path()));
  ASSERT_EQ(judged.curves.size(), 1);
  const JudgedCurve& curve = judged.curves[0];
  ASSERT_EQ(curve.points.size(), 3);
  EXPECT_EQ(curve.points[0].step, 10);
  EXPECT_EQ(curve.points[2].step, 30);
  EXPECT_EQ(curve.Best().step, 10);
  EXPECT_EQ(curve.points[1].card, "b.textproto");
}

TEST_F(JudgedCurvesTest, FiguresAreSplitByEvaluationMethodNotBySeedOrPlace) {
  Write("a", Card(10, 4));
  MetricCard seed = Card(20, 5);
  seed.mutable_images()->set_sha256("other weights");
  seed.mutable_images()->mutable_generator()->set_seed(7);
  seed.mutable_reference()->set_name("elsewhere");
  seed.add_warnings("few images");
  Write("b", seed);
  MetricCard reference = Card(20, 6);
  reference.mutable_reference()->set_sha256("other images");
  Write("c", reference);
  MetricCard network = Card(20, 7);
  network.mutable_features()->set_sha256("other network");
  Write("d", network);
  MetricCard number = Card(20, 8);
  number.mutable_metrics(0)->set_num_images(50);
  Write("e", number);
  ASSERT_OK_AND_ASSIGN(const JudgedCurves judged,
                       ReadJudgedCurves(dir_.path()));
  ASSERT_EQ(judged.curves.size(), 4);
  EXPECT_EQ(judged.curves[0].points.size(), 2);  // most points first
}

TEST_F(JudgedCurvesTest, TheNewestCardOfAStepCounts) {
  MetricCard older = Card(10, 4);
  older.set_unix_seconds(5);
  Write("z", older);
  MetricCard newer = Card(10, 3);
  newer.set_unix_seconds(6);
  Write("a", newer);
  ASSERT_OK_AND_ASSIGN(const JudgedCurves judged,
                       ReadJudgedCurves(dir_.path()));
  ASSERT_EQ(judged.curves[0].points.size(), 1);
  EXPECT_EQ(judged.curves[0].points[0].value, 3);
}

TEST_F(JudgedCurvesTest, InvalidCardsAreNamed) {
  ASSERT_OK(WriteFile(dir_.path() + "/bad.textproto", "no card {"));
  ASSERT_OK_AND_ASSIGN(const JudgedCurves judged,
                       ReadJudgedCurves(dir_.path()));
  EXPECT_TRUE(judged.curves.empty());
  ASSERT_EQ(judged.unreadable.size(), 1);
  EXPECT_THAT(judged.unreadable[0], HasSubstr("bad.textproto"));
  ASSERT_OK_AND_ASSIGN(const JudgedCurves none,
                       ReadJudgedCurves(dir_.path() + "/none"));
  EXPECT_TRUE(none.curves.empty());
}

TEST(LowerIsBetterTest, DistancesAreBetterIfLowerAndScoresIfHigher) {
  EXPECT_TRUE(LowerIsBetter("FID"));
  EXPECT_TRUE(LowerIsBetter("KID(net)"));
  EXPECT_TRUE(LowerIsBetter("intra-FID class 3"));
  EXPECT_FALSE(LowerIsBetter("IS"));
  EXPECT_FALSE(LowerIsBetter("IS(net)"));
  EXPECT_FALSE(LowerIsBetter("recall(net)"));
}

}  // namespace
}  // namespace gandem
