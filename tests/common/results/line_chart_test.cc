// SPDX-License-Identifier: Apache-2.0
#include "common/results/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/results/chart_canvas.h"

namespace gandem {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

int64_t PixelsOf(const PixelImage& image, ChartCanvas::Color color,
                 int64_t from_x, int64_t to_x) {
  int64_t count = 0;
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = from_x; x < to_x; ++x) {
      const auto* const pixel = image.pixels.data() + 3 * (y * image.width + x);
      if (std::equal(color.begin(), color.end(), pixel)) ++count;
    }
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
  const LinePanel left = {.title = "FD",
                          .x_label = "images",
                          .points = {{0, 9}, {10, 4, 1}, {20, 5}},
                          .marked = 1};
  LinePanel right = left;
  right.points = {};
  const std::vector<LinePanel> panels = {left, right};
  const PixelImage image = LineChart(panels);
  ASSERT_EQ(image.width, 1120);
  EXPECT_GT(PixelsOf(image, ChartCanvas::kBlue, 0, 560), 300);
  // A box of 13 x 13, less the point of 7 x 7 upon it.
  EXPECT_EQ(PixelsOf(image, ChartCanvas::kOrange, 0, 560), 13 * 13 - 7 * 7);
  EXPECT_EQ(PixelsOf(image, ChartCanvas::kBlue, 560, 1120), 0);
  EXPECT_EQ(PixelsOf(image, ChartCanvas::kOrange, 560, 1120), 0);
}

TEST(LineChartTest, OnePointOrEqualOnesAreDrawn) {
  const std::vector<LinePanel> one = {{.points = {{0, 0}}}};
  EXPECT_GT(PixelsOf(LineChart(one), ChartCanvas::kBlue, 0, 560), 40);
}

// What lies outside is not drawn, and nothing else is hurt.
TEST(ChartCanvasTest, KeepsInside) {
  ChartCanvas canvas(20, 10);
  canvas.Box(-5, -5, 10, 10, ChartCanvas::kBlue);
  canvas.Line(-30, 5, 50, 5, ChartCanvas::kBlack);
  canvas.Text(18, 8, "8%z~");
  const PixelImage image = canvas.Take();
  EXPECT_EQ(PixelsOf(image, ChartCanvas::kBlue, 0, 20), 25);
}

}  // namespace
}  // namespace gandem
