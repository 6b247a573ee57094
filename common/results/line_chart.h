// SPDX-License-Identifier: Apache-2.0
//
// Points joined by lines, with bars of uncertainty and one of them marked, as a
// picture: how a figure goes on with images and with time.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/files/png.h"

namespace gandem {

struct ChartPoint {
  double x = 0;
  double y = 0;
  double spread = 0;  // half the length of its bar
};

struct LinePanel {
  std::string title = {};               // above
  std::string x_label = {};             // below
  std::vector<ChartPoint> points = {};  // x ascending, all finite
  size_t marked = 0;                    // the index of the best
};

// Panels side by side, each 560 x 360 pixels.
PixelImage LineChart(std::span<const LinePanel> panels);

// Of an axis from `low` to `high` > low: 1, 2 or 5 times a power of ten apart,
// about `count` of them, all within.
std::vector<double> TicksOf(double low, double high, int count);

// At most three digits and a letter: "12.5K", "3M", "0.25".
std::string ShortNumber(double value);

}  // namespace gandem
