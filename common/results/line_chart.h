// SPDX-License-Identifier: Apache-2.0
//
// Points joined by lines, as an SVG picture: a metric over images and time, an
// efficiency over devices.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gandem {

struct ChartPoint {
  double x = 0;
  double y = 0;
  double spread = 0;  // half the length of its error bar
};

struct ChartLine {
  std::string name = {};                // in the legend; empty: not shown there
  std::vector<ChartPoint> points = {};  // x ascending, all finite
};

struct LinePanel {
  std::string title = {};    // above
  std::string x_label = {};  // below
  std::vector<ChartLine> lines = {};
  std::optional<ChartPoint> best = std::nullopt;  // a point to mark
  // The vertical axis begins at 0, and each doubling of x is as far as the
  // next, with the numbers of the first line's points.
  bool doubling = false;
};

// The text of an SVG document: panels side by side, each 560 x 360 pixels.
std::string LineChart(std::span<const LinePanel> panels);

// Numbers on an axis from `low` to `high` > low: 1, 2 or 5 times a power of ten
// apart, about `count` of them, all within.
std::vector<double> TicksOf(double low, double high, int count);

// At most three digits and a letter: "12.5K", "3M", "0.25".
std::string ShortNumber(double value);

}  // namespace gandem
