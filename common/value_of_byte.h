// SPDX-License-Identifier: Apache-2.0
//
// Maps an image byte (dataset, or UINT8 of the exchange) to its value.
//
// Thread safety: a constant.
#pragma once

#include <array>
#include <cstdint>

namespace gandem {

// b / 127.5 - 1 in double, rounded to float. (In float, half of the values
// would be off by one unit in the last place.) QuantizePixel
// (common/files/png.h) and UINT8 of exchange/encoding.h return exactly b.
inline constexpr std::array<float, 256> kValueOfByte = [] {
  std::array<float, 256> values{};
  for (int b = 0; b < 256; ++b) {
    values[b] = static_cast<float>(b / 127.5 - 1.0);
  }
  return values;
}();

}  // namespace gandem
