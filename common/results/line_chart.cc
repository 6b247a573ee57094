// SPDX-License-Identifier: Apache-2.0
#include "common/results/line_chart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace gandem {
namespace {

// Pixels of a panel, and of the plot in it.
constexpr double kWidth = 560;
constexpr double kHeight = 360;
constexpr double kLeft = 70;
constexpr double kRight = 536;
constexpr double kTop = 36;
constexpr double kBottom = 306;

constexpr absl::string_view kColors[] = {"#1f77b4", "#ff7f0e", "#2ca02c"};
constexpr char kBestColor[] = "#ff7f0e";

struct Range {
  double low = 0;
  double high = 1;
};

class PanelDrawing {
 public:
  explicit PanelDrawing(const LinePanel& panel)
      : panel_(panel), x_(XRange()), y_(YRange()) {}

  std::string Draw() {
    DrawAxes();
    size_t number = 0;
    for (const ChartLine& line : panel_.lines) {
      const absl::string_view color = kColors[number % std::size(kColors)];
      DrawLine(line, color);
      Text(kRight, kTop + 14 * static_cast<double>(number), line.name, "end",
           color);
      ++number;
    }
    if (panel_.best.has_value()) DrawBest(*panel_.best);
    return std::move(svg_);
  }

 private:
  double XValue(double x) const { return panel_.doubling ? std::log2(x) : x; }
  double X(double x) const {
    return kLeft + (XValue(x) - x_.low) / (x_.high - x_.low) * (kRight - kLeft);
  }
  double Y(double y) const {
    return kBottom - (y - y_.low) / (y_.high - y_.low) * (kBottom - kTop);
  }

  // From 0 on, or around the first and last doubling.
  Range XRange() const {
    Range range = {.high = 0};
    if (panel_.doubling) range = {.low = 1e9, .high = -1e9};
    for (const ChartLine& line : panel_.lines) {
      for (const ChartPoint& point : line.points) {
        range.low = std::min(range.low, XValue(point.x));
        range.high = std::max(range.high, XValue(point.x));
      }
    }
    if (range.low > range.high) return {};
    const double room = std::max(0.04 * (range.high - range.low), 1e-6);
    if (panel_.doubling) range.low -= room;
    range.high += room;
    return range;
  }

  // With some room at both ends.
  Range YRange() const {
    Range range = {.low = 1e300, .high = -1e300};
    for (const ChartLine& line : panel_.lines) {
      for (const ChartPoint& point : line.points) {
        range.low = std::min(range.low, point.y - point.spread);
        range.high = std::max(range.high, point.y + point.spread);
      }
    }
    if (range.low > range.high) return {};
    if (panel_.doubling) range.low = 0;
    const double room = range.high > range.low
                            ? 0.08 * (range.high - range.low)
                            : std::max(1e-6, 0.1 * std::abs(range.high));
    if (!panel_.doubling) range.low -= room;
    range.high += room;
    return range;
  }

  void Line(double x0, double y0, double x1, double y1, absl::string_view color,
            double width) {
    absl::StrAppendFormat(&svg_,
                          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                          "y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%g\"/>\n",
                          x0, y0, x1, y1, color, width);
  }
  void Dot(const ChartPoint& point, double radius, absl::string_view color) {
    absl::StrAppendFormat(
        &svg_, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" fill=\"%s\"/>\n",
        X(point.x), Y(point.y), radius, color);
  }
  void Text(double x, double y, absl::string_view text,
            absl::string_view anchor, absl::string_view color = "black") {
    absl::StrAppendFormat(
        &svg_,
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" "
        "fill=\"%s\">%s</text>\n",
        x, y, anchor, color,
        absl::StrReplaceAll(text,
                            {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}));
  }

  void XTick(double x) {
    Line(X(x), kBottom, X(x), kBottom + 6, "black", 1);
    Text(X(x), kBottom + 20, panel_.doubling ? absl::StrCat(x) : ShortNumber(x),
         "middle");
  }

  void DrawAxes() {
    for (const double tick : TicksOf(y_.low, y_.high, 6)) {
      Line(kLeft, Y(tick), kRight, Y(tick), "#d7d7d7", 1);
      Text(kLeft - 6, Y(tick) + 4, ShortNumber(tick), "end");
    }
    if (!panel_.doubling) {
      for (const double tick : TicksOf(x_.low, x_.high, 6)) XTick(tick);
    } else {
      std::set<double> ticks;
      for (const ChartLine& line : panel_.lines) {
        for (const ChartPoint& point : line.points) ticks.insert(point.x);
      }
      for (const double tick : ticks) XTick(tick);
    }
    Line(kLeft, kTop, kLeft, kBottom, "black", 1);
    Line(kLeft, kBottom, kRight, kBottom, "black", 1);
    Text((kLeft + kRight) / 2, 22, panel_.title, "middle");
    Text((kLeft + kRight) / 2, kBottom + 42, panel_.x_label, "middle");
  }

  void DrawLine(const ChartLine& line, absl::string_view color) {
    const ChartPoint* last = nullptr;
    for (const ChartPoint& point : line.points) {
      const double x = X(point.x);
      if (last != nullptr)
        Line(X(last->x), Y(last->y), x, Y(point.y), color, 2);
      if (point.spread > 0) {
        Line(x, Y(point.y - point.spread), x, Y(point.y + point.spread), color,
             2);
      }
      Dot(point, 3.5, color);
      last = &point;
    }
  }

  void DrawBest(const ChartPoint& best) {
    Dot(best, 6.5, kBestColor);
    Dot(best, 3.5, kColors[0]);
    Text(X(best.x), Y(best.y) - 12, absl::StrCat("best ", ShortNumber(best.y)),
         "middle");
  }

  const LinePanel& panel_;
  const Range x_;
  const Range y_;
  std::string svg_;
};

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

std::string LineChart(std::span<const LinePanel> panels) {
  const double width = kWidth * static_cast<double>(panels.size());
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      width, kHeight);
  for (size_t i = 0; i < panels.size(); ++i) {
    absl::StrAppendFormat(&svg, "<g transform=\"translate(%g)\">\n%s</g>\n",
                          kWidth * static_cast<double>(i),
                          PanelDrawing(panels[i]).Draw());
  }
  return svg + "</svg>\n";
}

}  // namespace gandem
