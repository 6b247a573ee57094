// SPDX-License-Identifier: Apache-2.0
//
// Encodings of image values and their conversion (design.md section 6). Both
// exchanges carry encoded bytes, so colocated and decoupled runs round equally.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gandem {

// kFloat64 carries doubles unchanged, for runs in double precision. Encode and
// Decode convert floats and reject it.
enum class Encoding { kFloat32, kBfloat16, kUint8, kFloat64 };
enum class Layout { kNchw, kChannelsLast };

constexpr int64_t BytesPerElement(Encoding encoding) {
  switch (encoding) {
    case Encoding::kFloat32:
      return 4;
    case Encoding::kBfloat16:
      return 2;
    case Encoding::kUint8:
      return 1;
    case Encoding::kFloat64:
      return 8;
  }
  return 0;
}

// Encodes `values` to `out`, which has values.size() *
// BytesPerElement(encoding) bytes. BFLOAT16 rounds to nearest even and keeps
// NaN. UINT8 is round(127.5 * (x + 1)) clamped to [0, 255]; NaN becomes 0.
void Encode(std::span<const float> values, Encoding encoding,
            std::span<std::byte> out);

// Decodes `bytes` to `out`. A UINT8 byte gets its dataset value
// (common/value_of_byte.h).
void Decode(std::span<const std::byte> bytes, Encoding encoding,
            std::span<float> out);

}  // namespace gandem
