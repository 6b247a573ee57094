// SPDX-License-Identifier: Apache-2.0
//
// From stored bytes to the values of a Dataset.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "common/image_shape.h"
#include "common/value_of_byte.h"

namespace gandem {

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
