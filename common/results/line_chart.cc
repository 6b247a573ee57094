// SPDX-License-Identifier: Apache-2.0
#include "common/results/line_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/results/chart_canvas.h"

namespace gandem {
namespace {

constexpr int64_t kPanelWidth = 560;
constexpr int64_t kPanelHeight = 360;
constexpr int64_t kPanelLeft = 70;
constexpr int64_t kPanelRight = 536;
constexpr int64_t kPanelTop = 36;
constexpr int64_t kPanelBottom = 306;
constexpr int64_t kBestBox = 13;

struct Span {
  double low = 0;
  double high = 1;
};

class PanelScale {
 public:
  // From `left` on.
  PanelScale(int64_t left, Span x, Span y) : left_(left), x_(x), y_(y) {}
  double X(double x) const {
    return static_cast<double>(left_ + kPanelLeft) +
           (x - x_.low) / (x_.high - x_.low) * (kPanelRight - kPanelLeft);
  }
  double Y(double y) const {
    return kPanelBottom -
           (y - y_.low) / (y_.high - y_.low) * (kPanelBottom - kPanelTop);
  }

 private:
  int64_t left_;
  Span x_;
  Span y_;
};

// With some room at both ends.
Span HeightOf(const LinePanel& panel) {
  if (panel.points.empty()) return {};
  Span span = {.low = panel.points[0].y, .high = panel.points[0].y};
  for (const ChartPoint& point : panel.points) {
    span.low = std::min(span.low, point.y - point.spread);
    span.high = std::max(span.high, point.y + point.spread);
  }
  const double room = span.high > span.low
                          ? 0.08 * (span.high - span.low)
                          : std::max(1e-6, 0.1 * std::abs(span.high));
  return {.low = span.low - room, .high = span.high + room};
}

// From 0 on.
Span WidthOf(const LinePanel& panel) {
  const double last = panel.points.empty() ? 0 : panel.points.back().x;
  return {.low = 0, .high = last > 0 ? 1.04 * last : 1};
}

void DrawAxes(const LinePanel& panel, int64_t left, Span x, Span y,
              const PanelScale& scale, ChartCanvas& canvas) {
  for (const double tick : TicksOf(y.low, y.high, 6)) {
    const int64_t at = std::lround(scale.Y(tick));
    canvas.Box(left + kPanelLeft, at, kPanelRight - kPanelLeft, 1,
               ChartCanvas::kGray);
    canvas.Text(left + kPanelLeft - 6, at - 5, ShortNumber(tick),
                ChartCanvas::Anchor::kEnd);
  }
  for (const double tick : TicksOf(x.low, x.high, 6)) {
    const int64_t at = std::lround(scale.X(tick));
    canvas.Box(at, kPanelBottom, 2, 6, ChartCanvas::kBlack);
    canvas.Text(at, kPanelBottom + 12, ShortNumber(tick));
  }
  canvas.Box(left + kPanelLeft, kPanelTop, 2, kPanelBottom - kPanelTop,
             ChartCanvas::kBlack);
  canvas.Box(left + kPanelLeft, kPanelBottom, kPanelRight - kPanelLeft, 2,
             ChartCanvas::kBlack);
  const int64_t middle = left + (kPanelLeft + kPanelRight) / 2;
  canvas.Text(middle, 12, panel.title);
  canvas.Text(middle, kPanelBottom + 34, panel.x_label);
}

void DrawPoints(const LinePanel& panel, const PanelScale& scale,
                ChartCanvas& canvas) {
  const ChartPoint* last = nullptr;
  for (size_t i = 0; i < panel.points.size(); ++i) {
    const ChartPoint& point = panel.points[i];
    const double x = scale.X(point.x);
    const double y = scale.Y(point.y);
    if (last != nullptr) {
      canvas.Line(scale.X(last->x), scale.Y(last->y), x, y, ChartCanvas::kBlue);
    }
    if (point.spread > 0) {
      canvas.Line(x, scale.Y(point.y - point.spread), x,
                  scale.Y(point.y + point.spread), ChartCanvas::kBlue);
    }
    last = &point;
  }
  // Above all lines.
  for (size_t i = 0; i < panel.points.size(); ++i) {
    const int64_t x = std::lround(scale.X(panel.points[i].x));
    const int64_t y = std::lround(scale.Y(panel.points[i].y));
    if (i == panel.marked) {
      canvas.Box(x - kBestBox / 2, y - kBestBox / 2, kBestBox, kBestBox,
                 ChartCanvas::kOrange);
      canvas.Text(x, y - kBestBox / 2 - 14,
                  absl::StrCat("best ", ShortNumber(panel.points[i].y)));
    }
    canvas.Box(x - 3, y - 3, 7, 7, ChartCanvas::kBlue);
  }
}

}  // namespace

std::vector<double> TicksOf(double low, double high, int count) {
  const double rough = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= 0.999 * rough) step = factor * power;
  }
  std::vector<double> ticks;
  const auto first = static_cast<int64_t>(std::ceil(low / step - 1e-9));
  const auto last = static_cast<int64_t>(std::floor(high / step + 1e-9));
  for (int64_t i = first; i <= last; ++i) {
    ticks.push_back(static_cast<double>(i) * step);
  }
  return ticks;
}

std::string ShortNumber(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return absl::StrFormat("%.3gG", value / 1e9);
  if (size >= 1e6) return absl::StrFormat("%.3gM", value / 1e6);
  if (size >= 1e3) return absl::StrFormat("%.3gK", value / 1e3);
  return absl::StrFormat("%.3g", value);
}

PixelImage LineChart(std::span<const LinePanel> panels) {
  ChartCanvas canvas(kPanelWidth * std::ssize(panels), kPanelHeight);
  int64_t left = 0;
  for (const LinePanel& panel : panels) {
    const Span x = WidthOf(panel);
    const Span y = HeightOf(panel);
    const PanelScale scale(left, x, y);
    DrawAxes(panel, left, x, y, scale, canvas);
    DrawPoints(panel, scale, canvas);
    left += kPanelWidth;
  }
  return canvas.Take();
}

}  // namespace gandem
