// SPDX-License-Identifier: Apache-2.0
//
// From stored bytes to the values of a Dataset.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "common/check.h"
#include "common/files/png.h"
#include "common/image_shape.h"
#include "common/value_of_byte.h"
#include "common/vectorized.h"

namespace gandem {

namespace byte_values_internal {

// 1 / 255 in two parts, the first of so few bits that its product with any
// whole number up to 255 is exact.
inline constexpr float kHigh = 0x1.01p-8f;
inline constexpr float kLow = static_cast<float>(1.0 / 255 - kHigh);

// kValueOfByte's numbers (common/value_of_byte.h), by what vectors do fast: a
// division takes several times as long.
[[gnu::always_inline]] constexpr float ValueOf(uint8_t byte) {
  const auto odd = static_cast<float>(2 * byte - 255);
  return odd * kHigh + odd * kLow;
}

static_assert([] {
  for (int byte = 0; byte < 256; ++byte) {
    if (ValueOf(static_cast<uint8_t>(byte)) != kValueOfByte[byte]) return false;
  }
  return true;
}());

// A row of gray pixels, or of RGB ones into three planes.
struct RowLoop {
  const uint8_t* bytes;
  bool gray;
  int64_t width;
  int64_t area;  // of a plane
  float* row;

  [[gnu::always_inline]] void operator()() const {
    if (gray) {
      for (int64_t x = 0; x < width; ++x) row[x] = ValueOf(bytes[x]);
      return;
    }
    for (int64_t x = 0; x < width; ++x) {
      row[x] = ValueOf(bytes[3 * x]);
      row[area + x] = ValueOf(bytes[3 * x + 1]);
      row[2 * area + x] = ValueOf(bytes[3 * x + 2]);
    }
  }
};

}  // namespace byte_values_internal

// The values of `image`, gray or RGB, channels first, into `out_CHW` of `shape`
// with its first pixel at (top, left), where it has room.
inline void WriteValues(const PixelImage& image, int64_t top, int64_t left,
                        ImageShape shape, std::span<float> out_CHW) {
  GANDEM_CHECK(image.channels == 1 || image.channels == 3);
  const int64_t row_bytes = image.width * image.channels;
  for (int64_t y = 0; y < image.height; ++y) {
    RunVectorized(byte_values_internal::RowLoop{
        .bytes = image.pixels.data() + y * row_bytes,
        .gray = image.channels == 1,
        .width = image.width,
        .area = shape.height * shape.width,
        .row = out_CHW.data() + (top + y) * shape.width + left});
  }
}

}  // namespace gandem
