// SPDX-License-Identifier: Apache-2.0
//
// Value of an image's byte: a pixel of a dataset, or of an image that the
// exchange sent as UINT8.
//
// Thread safety: a constant.
#pragma once

#include <array>
#include <cstdint>

namespace gandem {

// b / 127.5 - 1 in double, then rounded to float. (In float all the way, half
// of the values are another neighbor.) QuantizePixel (common/files/png.h) and
// UINT8 of exchange/encoding.h give exactly b back.
inline constexpr std::array<float, 256> kValueOfByte = [] {
  std::array<float, 256> values{};
  for (int b = 0; b < 256; ++b) {
    values[b] = static_cast<float>(b / 127.5 - 1.0);
  }
  return values;
}();

}  // namespace gandem
