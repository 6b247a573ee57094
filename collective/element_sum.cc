// SPDX-License-Identifier: Apache-2.0
#include "collective/element_sum.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/check.h"

namespace gandem {
namespace {

// This many float32 values fit the L1 cache.
constexpr size_t kBlock = 1024;

template <typename Value>
Value Load(const std::byte* at) {
  Value value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

template <typename Value>
void Store(Value value, std::byte* at) {
  std::memcpy(at, &value, sizeof(value));
}

// Representation of an element type on the wire (Stored) and in a sum (Sum).
template <typename Value>
struct Native {
  using Stored = Value;
  using Sum = Value;
  static Sum Read(Stored value) { return value; }
  static Stored Round(Sum value) { return value; }
};
template <float (*kFrom)(uint16_t), uint16_t (*kTo)(float)>
struct Short {
  using Stored = uint16_t;
  using Sum = float;
  static Sum Read(Stored bits) { return kFrom(bits); }
  static Stored Round(Sum value) { return kTo(value); }
};

// Calls the visitor with the element type as a C++ type.
template <typename Visitor>
void Dispatch(ElementType type, const Visitor& visitor) {
  switch (type) {
    case ElementType::kFloat32:
      return visitor(Native<float>());
    case ElementType::kFloat64:
      return visitor(Native<double>());
    case ElementType::kBfloat16:
      return visitor(Short<FromBfloat16, ToBfloat16>());
    case ElementType::kFloat16:
      return visitor(Short<FromFloat16, ToFloat16>());
  }
}

// The received element is the left operand, as in the order of ring sums.
template <typename Type>
void Add(const std::byte* received, std::byte* own, size_t count) {
  using Stored = typename Type::Stored;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * sizeof(Stored);
    Store(Type::Round(Type::Read(Load<Stored>(received + at)) +
                      Type::Read(Load<Stored>(own + at))),
          own + at);
  }
}

// Sums in blocks that fit the cache, because buffers may be large.
template <typename Type>
void Sum(const std::byte* blocks, size_t num_blocks, std::byte* out,
         size_t count) {
  using Stored = typename Type::Stored;
  typename Type::Sum sums[kBlock];
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t some = std::min(kBlock, count - first);
    for (size_t block = 0; block < num_blocks; ++block) {
      const std::byte* const at =
          blocks + (block * count + first) * sizeof(Stored);
      for (size_t i = 0; i < some; ++i) {
        const auto value = Type::Read(Load<Stored>(at + i * sizeof(Stored)));
        sums[i] = block == 0 ? value : sums[i] + value;
      }
    }
    for (size_t i = 0; i < some; ++i) {
      Store(Type::Round(sums[i]), out + (first + i) * sizeof(Stored));
    }
  }
}

}  // namespace

void AddElements(ElementType type, std::span<const std::byte> received,
                 std::span<std::byte> own) {
  GANDEM_CHECK(received.size() == own.size());
  GANDEM_CHECK(own.size() % BytesPerElement(type) == 0);
  const size_t count = own.size() / BytesPerElement(type);
  Dispatch(type, [&]<typename Type>(Type) {
    Add<Type>(received.data(), own.data(), count);
  });
}

void SumBlocks(ElementType type, std::span<const std::byte> blocks,
               std::span<std::byte> out) {
  GANDEM_CHECK(out.size() % BytesPerElement(type) == 0);
  if (out.empty()) return;
  GANDEM_CHECK(blocks.size() % out.size() == 0);
  const size_t count = out.size() / BytesPerElement(type);
  Dispatch(type, [&]<typename Type>(Type) {
    Sum<Type>(blocks.data(), blocks.size() / out.size(), out.data(), count);
  });
}

// Rounds to nearest even. The quiet bit keeps a NaN from becoming infinity.
uint16_t ToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(is_nan ? (bits >> 16) | 0x40 : rounded);
}

float FromBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t ToFloat16(float value) {
  constexpr uint32_t kInfinity = 0x7f800000;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t size = bits & 0x7fffffff;
  // Below 2^-14 the last bit of the result is worth 2^-24, like the last bit of
  // floats in [0.5, 1), so adding 0.5 rounds correctly.
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000;
  // Rounds 13 bits away and changes the exponent's bias from 127 to 15. A carry
  // out of the largest exponent gives infinity.
  const uint32_t normal =
      (size + 0xfff + ((size >> 13) & 1) - (uint32_t{112} << 23)) >> 13;
  uint32_t result = size < 0x38800000 ? subnormal : normal;
  result = size >= 0x47800000 ? 0x7c00 : result;  // 65536 and more
  result = size > kInfinity ? 0x7e00 : result;
  return static_cast<uint16_t>(sign | result);
}

float FromFloat16(uint16_t bits) {
  const uint32_t size = uint32_t{bits} & 0x7fff;
  // The product changes the bias to 127 and normalizes subnormal numbers.
  const float scaled = std::bit_cast<float>(size << 13) *
                       std::bit_cast<float>(uint32_t{239} << 23);  // 2^112
  const uint32_t finite = std::bit_cast<uint32_t>(scaled);
  const uint32_t result =
      size >= 0x7c00 ? 0x7f800000 | (size & 0x3ff) << 13 : finite;
  return std::bit_cast<float>(result | (uint32_t{bits} & 0x8000) << 16);
}

}  // namespace gandem
