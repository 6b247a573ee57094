// SPDX-License-Identifier: Apache-2.0
#include "exchange/encoding.h"

#include <bit>
#include <cstring>

#include "common/check.h"
#include "common/value_of_byte.h"

namespace gandem {
namespace {

uint16_t ToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  // The quiet bit keeps a NaN whose payload is in the lower half.
  if (is_nan) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  const uint32_t lowest_kept = (bits >> 16) & 1u;
  return static_cast<uint16_t>((bits + 0x7fffu + lowest_kept) >> 16);
}

uint8_t ToUint8(float value) {
  float level = 127.5f * (value + 1.0f);
  level = level > 0.0f ? level : 0.0f;  // also replaces NaN
  level = level < 255.0f ? level : 255.0f;
  // Adding 2^23 leaves the rounded integer in the mantissa, ties to even.
  // Unlike std::nearbyint, this is vectorized by the compiler.
  return static_cast<uint8_t>(std::bit_cast<uint32_t>(level + 8388608.0f));
}

}  // namespace

void Encode(std::span<const float> values, Encoding encoding,
            std::span<std::byte> out) {
  GANDEM_CHECK(encoding != Encoding::kFloat64);
  GANDEM_CHECK(out.size() == values.size() * BytesPerElement(encoding));
  if (values.empty()) return;
  switch (encoding) {
    case Encoding::kFloat32:
      std::memcpy(out.data(), values.data(), out.size());
      break;
    case Encoding::kBfloat16:
      for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t bits = ToBfloat16(values[i]);
        std::memcpy(out.data() + 2 * i, &bits, 2);
      }
      break;
    case Encoding::kUint8:
      for (size_t i = 0; i < values.size(); ++i) {
        out[i] = std::byte{ToUint8(values[i])};
      }
      break;
    case Encoding::kFloat64:
      break;
  }
}

void Decode(std::span<const std::byte> bytes, Encoding encoding,
            std::span<float> out) {
  GANDEM_CHECK(encoding != Encoding::kFloat64);
  GANDEM_CHECK(bytes.size() == out.size() * BytesPerElement(encoding));
  if (out.empty()) return;
  switch (encoding) {
    case Encoding::kFloat32:
      std::memcpy(out.data(), bytes.data(), bytes.size());
      break;
    case Encoding::kBfloat16:
      for (size_t i = 0; i < out.size(); ++i) {
        uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + 2 * i, 2);
        out[i] = std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
      }
      break;
    case Encoding::kUint8:
      for (size_t i = 0; i < out.size(); ++i) {
        out[i] = kValueOfByte[std::to_integer<uint8_t>(bytes[i])];
      }
      break;
    case Encoding::kFloat64:
      break;
  }
}

}  // namespace gandem
