// SPDX-License-Identifier: Apache-2.0
//
// A white picture with lines, boxes and small letters: what charts are drawn
// on. Coordinates are pixels from the upper left corner; what lies outside is
// not drawn.
//
// Owner: who draws. Thread safety: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/files/png.h"

namespace gandem {

class ChartCanvas {
 public:
  using Color = std::array<uint8_t, 3>;
  static constexpr Color kBlack = {0, 0, 0};
  static constexpr Color kGray = {215, 215, 215};
  static constexpr Color kBlue = {31, 119, 180};
  static constexpr Color kOrange = {255, 127, 14};
  // Of a letter with the gap after it, and its height.
  static constexpr int64_t kLetterWidth = 8;
  static constexpr int64_t kLetterHeight = 10;

  enum class Anchor { kStart, kMiddle, kEnd };

  ChartCanvas(int64_t width, int64_t height);

  void Box(int64_t x, int64_t y, int64_t width, int64_t height, Color color);
  // Two pixels thick.
  void Line(double x0, double y0, double x1, double y1, Color color);
  // Digits, letters (as capitals) and a few signs; others stay empty. `x` is
  // where `anchor` says, `y` the upper edge.
  void Text(int64_t x, int64_t y, absl::string_view text,
            Anchor anchor = Anchor::kMiddle);

  PixelImage Take() { return std::move(image_); }

 private:
  PixelImage image_;
};

}  // namespace gandem
