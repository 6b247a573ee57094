// SPDX-License-Identifier: Apache-2.0
#include "common/results/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int64_t CountOf(absl::string_view word, absl::string_view text) {
  int64_t count = 0;
  for (size_t at = text.find(word); at != absl::string_view::npos;
       at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST(LineChartTest, TicksAreRoundNumbersWithin) {
  EXPECT_THAT(TicksOf(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(TicksOf(51, 183, 6), ElementsAre(100, 150));
  EXPECT_THAT(TicksOf(-0.1, 0.35, 5),
              ElementsAre(DoubleEq(-0.1), 0, DoubleEq(0.1), DoubleEq(0.2),
                          DoubleEq(0.1 * 3)));
}

TEST(LineChartTest, NumbersAreShort) {
  EXPECT_EQ(ShortNumber(0.25), "0.25");
  EXPECT_EQ(ShortNumber(12500), "12.5K");
  EXPECT_EQ(ShortNumber(3e6), "3M");
  EXPECT_EQ(ShortNumber(-2e9), "-2G");
}

TEST(LineChartTest, EachPanelHasItsPointsAndOneMark) {
  const LinePanel full = {.title = "FD<a & b>",
                          .x_label = "images",
                          .lines = {{.points = {{0, 9}, {10, 4, 1}, {20, 5}}}},
                          .best = ChartPoint{10, 4}};
  const LinePanel empty = {.title = "none"};
  const std::vector<LinePanel> panels = {full, empty};
  const std::string svg = LineChart(panels);
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" "
                              "width=\"1120\" height=\"360\""));
  // Three points, and the mark of the best around its own.
  EXPECT_EQ(CountOf("<circle", svg), 3 + 2);
  EXPECT_THAT(svg, HasSubstr(">best 4<"));
  EXPECT_THAT(svg, HasSubstr(">FD&lt;a &amp; b&gt;<"));
  // Two parts between points, and one bar.
  EXPECT_EQ(CountOf("stroke-width=\"2\"", svg), 3);
}

TEST(LineChartTest, OnePointOrEqualOnesAreDrawn) {
  const std::vector<LinePanel> one = {{.lines = {{.points = {{0, 0}}}}}};
  EXPECT_THAT(LineChart(one), HasSubstr("<circle cx=\"70.0\" cy=\"171.0\""));
}

TEST(LineChartTest, DoublingsAreEquallyFar) {
  const std::vector<LinePanel> panels = {
      {.lines = {{.name = "a", .points = {{1, 2}, {2, 4}, {4, 8}}}},
       .doubling = true}};
  EXPECT_THAT(LineChart(panels),
              AllOf(HasSubstr("cx=\"87.3\""), HasSubstr("cx=\"303.0\""),
                    HasSubstr("cx=\"518.7\"")));
}

}  // namespace
}  // namespace gandem
