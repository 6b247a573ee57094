// SPDX-License-Identifier: Apache-2.0
//
// From stored bytes to the values of a Dataset.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/image_shape.h"

namespace gandem {

// b / 127.5 - 1, what exchange/encoding.h makes of a byte. QuantizePixel
// (common/files/png.h) gives exactly b back.
inline constexpr std::array<float, 256> kValueOfByte = [] {
  std::array<float, 256> values{};
  for (int b = 0; b < 256; ++b) {
    values[b] = static_cast<float>(b / 127.5 - 1.0);
  }
  return values;
}();

// The values of `pixels_HWC`, with the channels first.
inline void ValuesOfBytes(std::span<const uint8_t> pixels_HWC, ImageShape shape,
                          std::span<float> out_CHW) {
  const int64_t area = shape.height * shape.width;
  const uint8_t* byte = pixels_HWC.data();
  for (int64_t i = 0; i < area; ++i) {
    for (int64_t c = 0; c < shape.channels; ++c, ++byte) {
      out_CHW[c * area + i] = kValueOfByte[*byte];
    }
  }
}

}  // namespace gandem
