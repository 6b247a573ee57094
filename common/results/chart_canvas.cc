// SPDX-License-Identifier: Apache-2.0
#include "common/results/chart_canvas.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"

namespace gandem {
namespace {

// Rows of three dots from the top, bit 2 the left one.
using Glyph = std::array<uint8_t, 5>;
constexpr int64_t kDot = 2;  // pixels

constexpr std::array<Glyph, 10> kDigits = {{{7, 5, 5, 5, 7},
                                            {2, 6, 2, 2, 7},
                                            {7, 1, 7, 4, 7},
                                            {7, 1, 7, 1, 7},
                                            {5, 5, 7, 1, 1},
                                            {7, 4, 7, 1, 7},
                                            {7, 4, 7, 5, 7},
                                            {7, 1, 1, 1, 1},
                                            {7, 5, 7, 5, 7},
                                            {7, 5, 7, 1, 7}}};
constexpr std::array<Glyph, 26> kLetters = {
    {{2, 5, 7, 5, 5}, {6, 5, 6, 5, 6}, {3, 4, 4, 4, 3}, {6, 5, 5, 5, 6},
     {7, 4, 6, 4, 7}, {7, 4, 6, 4, 4}, {3, 4, 5, 5, 3}, {5, 5, 7, 5, 5},
     {7, 2, 2, 2, 7}, {1, 1, 1, 5, 2}, {5, 5, 6, 5, 5}, {4, 4, 4, 4, 7},
     {5, 7, 7, 5, 5}, {6, 5, 5, 5, 5}, {2, 5, 5, 5, 2}, {6, 5, 6, 4, 4},
     {2, 5, 5, 6, 3}, {6, 5, 6, 5, 5}, {3, 4, 2, 1, 6}, {7, 2, 2, 2, 2},
     {5, 5, 5, 5, 7}, {5, 5, 5, 5, 2}, {5, 5, 7, 7, 5}, {5, 5, 2, 5, 5},
     {5, 5, 2, 2, 2}, {7, 1, 2, 4, 7}}};

Glyph SignOf(char sign) {
  switch (sign) {
    case '%':
      return {5, 1, 2, 4, 5};
    case '.':
      return {0, 0, 0, 0, 2};
    case ',':
      return {0, 0, 0, 2, 4};
    case ':':
      return {0, 2, 0, 2, 0};
    case '-':
      return {0, 0, 7, 0, 0};
    case '+':
      return {0, 2, 7, 2, 0};
    case '(':
      return {1, 2, 2, 2, 1};
    case ')':
      return {4, 2, 2, 2, 4};
    case '/':
      return {1, 1, 2, 4, 4};
    default:
      return {};
  }
}

Glyph GlyphOf(char letter) {
  if (absl::ascii_isdigit(letter)) return kDigits[letter - '0'];
  if (absl::ascii_isalpha(letter)) {
    return kLetters[absl::ascii_toupper(letter) - 'A'];
  }
  return SignOf(letter);
}

}  // namespace

ChartCanvas::ChartCanvas(int64_t width, int64_t height)
    : image_{.channels = 3,
             .height = height,
             .width = width,
             .pixels = std::vector<uint8_t>(3 * height * width, 255)} {}

void ChartCanvas::Box(int64_t x, int64_t y, int64_t width, int64_t height,
                      Color color) {
  const int64_t bottom = std::min(y + height, image_.height);
  const int64_t right = std::min(x + width, image_.width);
  for (int64_t v = std::max<int64_t>(0, y); v < bottom; ++v) {
    for (int64_t u = std::max<int64_t>(0, x); u < right; ++u) {
      std::ranges::copy(color,
                        image_.pixels.begin() + 3 * (v * image_.width + u));
    }
  }
}

void ChartCanvas::Line(double x0, double y0, double x1, double y1,
                       Color color) {
  const int steps =
      1 + static_cast<int>(std::max(std::abs(x1 - x0), std::abs(y1 - y0)));
  for (int i = 0; i <= steps; ++i) {
    const double part = static_cast<double>(i) / steps;
    Box(std::lround(x0 + part * (x1 - x0)), std::lround(y0 + part * (y1 - y0)),
        2, 2, color);
  }
}

void ChartCanvas::Text(int64_t x, int64_t y, absl::string_view text,
                       Anchor anchor) {
  const int64_t width = kLetterWidth * static_cast<int64_t>(text.size());
  x -= anchor == Anchor::kMiddle ? width / 2
       : anchor == Anchor::kEnd  ? width
                                 : 0;
  for (const char letter : text) {
    const Glyph glyph = GlyphOf(letter);
    for (size_t row = 0; row < glyph.size(); ++row) {
      for (int64_t column = 0; column < 3; ++column) {
        if ((glyph[row] >> (2 - column) & 1) == 0) continue;
        Box(x + column * kDot, y + static_cast<int64_t>(row) * kDot, kDot, kDot,
            kBlack);
      }
    }
    x += kLetterWidth;
  }
}

}  // namespace gandem
