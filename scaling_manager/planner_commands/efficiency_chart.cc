// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/efficiency_chart.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/results/chart_canvas.h"

namespace gandem {
namespace {

constexpr int64_t kWidth = 640;
constexpr int64_t kHeight = 400;
constexpr int64_t kLeft = 56;
constexpr int64_t kRight = 616;
constexpr int64_t kTop = 20;
constexpr int64_t kBottom = 360;
constexpr double kLeastTopPercent = 110;

// What is at the top: a tenth above the largest.
double TopPercent(std::span<const ScalingRow> weak,
                  std::span<const ScalingRow> strong) {
  double top = kLeastTopPercent;
  for (const auto rows : {weak, strong}) {
    for (const ScalingRow& row : rows) {
      top = std::max(top, 110 * row.efficiency * row.useful);
    }
  }
  return top;
}

double YOf(double efficiency, double top) {
  return kBottom - 100 * efficiency / top * (kBottom - kTop);
}

// Devices to pixels.
class Axis {
 public:
  Axis(int first, int last)
      : first_(std::log2(first)), last_(std::log2(std::max(last, first))) {}
  double XOf(int devices) const {
    if (last_ == first_) return (kLeft + kRight) / 2.0;
    return kLeft + 20 +
           (std::log2(devices) - first_) / (last_ - first_) *
               (kRight - kLeft - 40);
  }

 private:
  double first_;
  double last_;
};

void DrawRows(std::span<const ScalingRow> rows, const Axis& axis,
              ChartCanvas::Color color, double top, ChartCanvas& chart) {
  const ScalingRow* last = nullptr;
  for (const ScalingRow& row : rows) {
    if (!row.why_not.empty()) continue;
    const double x = axis.XOf(row.devices);
    const double y = YOf(row.efficiency * row.useful, top);
    if (last != nullptr) {
      chart.Line(axis.XOf(last->devices),
                 YOf(last->efficiency * last->useful, top), x, y, color);
    }
    chart.Box(std::lround(x) - 3, std::lround(y) - 3, 7, 7, color);
    last = &row;
  }
}

}  // namespace

PixelImage EfficiencyChart(std::span<const ScalingRow> weak,
                           std::span<const ScalingRow> strong) {
  ChartCanvas chart(kWidth, kHeight);
  const std::span<const ScalingRow> labels = weak.empty() ? strong : weak;
  const double top = TopPercent(weak, strong);
  const int step = 20 * static_cast<int>(std::ceil(top / 160));
  for (int percent = 0; percent <= top / 1.1; percent += step) {
    const int64_t y = std::lround(YOf(percent / 100.0, top));
    chart.Box(kLeft, y, kRight - kLeft, 1, ChartCanvas::kGray);
    chart.Text(kLeft - 24, y - 5, absl::StrCat(percent, "%"));
  }
  chart.Box(kLeft, kTop, 2, kBottom - kTop, ChartCanvas::kBlack);
  chart.Box(kLeft, kBottom, kRight - kLeft, 2, ChartCanvas::kBlack);
  if (labels.empty()) return chart.Take();
  const Axis axis(labels.front().devices, labels.back().devices);
  for (const ScalingRow& row : labels) {
    const int64_t x = std::lround(axis.XOf(row.devices));
    chart.Box(x, kBottom, 2, 6, ChartCanvas::kBlack);
    chart.Text(x, kBottom + 12, absl::StrCat(row.devices));
  }
  DrawRows(strong, axis, ChartCanvas::kOrange, top, chart);
  DrawRows(weak, axis, ChartCanvas::kBlue, top, chart);
  return chart.Take();
}

}  // namespace gandem
