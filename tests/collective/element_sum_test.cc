// SPDX-License-Identifier: Apache-2.0
#include "collective/element_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace gandem {
namespace {

// Returns the value of the 16 bits, computed from the format's definition.
double Meaning(uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::nan("")
                         : sign * std::numeric_limits<double>::infinity();
  }
  const double size = exponent == 0
                          ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                          : std::ldexp((1 << mantissa_bits) + mantissa,
                                       exponent - bias - mantissa_bits);
  return sign * size;
}

struct ShortType {
  int exponent_bits;
  uint16_t (*to)(float);
  float (*from)(uint16_t);
};
constexpr ShortType kTypes[] = {{8, &ToBfloat16, &FromBfloat16},
                                {5, &ToFloat16, &FromFloat16}};

TEST(ElementSumTest, ShortTypesHaveTheValuesOfTheirFormat) {
  for (const ShortType& type : kTypes) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const double meaning = Meaning(bits, type.exponent_bits);
      const float value = type.from(bits);
      if (std::isnan(meaning)) {
        EXPECT_TRUE(std::isnan(value));
        EXPECT_TRUE(std::isnan(type.from(type.to(value))));
        continue;
      }
      ASSERT_EQ(value, meaning) << bits;
      ASSERT_EQ(type.to(value), bits);
    }
  }
}

// Checks each pair of neighbors: the midpoint rounds to the even neighbor, the
// values next to the midpoint to the nearer neighbor.
TEST(ElementSumTest, RoundsToTheNearestTiesToEven) {
  for (const ShortType& type : kTypes) {
    const uint16_t infinity = type.exponent_bits == 8 ? 0x7f80 : 0x7c00;
    for (uint16_t low = 0; low < infinity; ++low) {
      const uint16_t high = low + 1;
      // Infinity rounds like the next finite number would.
      const double above = high == infinity
                               ? 2 * Meaning(low, type.exponent_bits) -
                                     Meaning(low - 1, type.exponent_bits)
                               : Meaning(high, type.exponent_bits);
      const double middle = (Meaning(low, type.exponent_bits) + above) / 2;
      const float at = static_cast<float>(middle);
      ASSERT_EQ(at, middle);
      const float big = std::numeric_limits<float>::infinity();
      ASSERT_EQ(type.to(at), low % 2 == 0 ? low : high) << low;
      ASSERT_EQ(type.to(std::nextafter(at, 0.0f)), low) << low;
      ASSERT_EQ(type.to(std::nextafter(at, big)), high) << low;
      ASSERT_EQ(type.to(-std::nextafter(at, big)), high | 0x8000) << low;
    }
    EXPECT_EQ(type.to(std::numeric_limits<float>::max()), infinity);
  }
}

template <typename Value>
std::vector<std::byte> At(size_t misalignment, const std::vector<Value>& from) {
  std::vector<std::byte> bytes(misalignment + from.size() * sizeof(Value));
  std::memcpy(bytes.data() + misalignment, from.data(),
              from.size() * sizeof(Value));
  return bytes;
}

TEST(ElementSumTest, AddsAtAnyAddress) {
  for (size_t misalignment = 0; misalignment < 8; ++misalignment) {
    const auto received = At<double>(misalignment, {1, 2, 3, 4, 5});
    auto own = At<double>(1, {10, 20, 30, 40, 50});
    AddElements(ElementType::kFloat64,
                std::span(received).subspan(misalignment),
                std::span(own).subspan(1));
    EXPECT_EQ(own, At<double>(1, {11, 22, 33, 44, 55}));
  }
}

TEST(ElementSumTest, AddsShortTypesInFloat32) {
  // 256 + 1 is not a BFLOAT16 value; 1 + 1 first makes 258, which is one.
  const uint16_t big = ToBfloat16(256), one = ToBfloat16(1);
  const auto blocks = At<uint16_t>(0, {one, one, big});
  std::vector<std::byte> sum(2);
  SumBlocks(ElementType::kBfloat16, blocks, sum);
  EXPECT_EQ(sum, At<uint16_t>(0, {ToBfloat16(258)}));
  // The sum is rounded once, so 256 + 1 is kept in between.
  const auto other = At<uint16_t>(0, {big, one, one});
  SumBlocks(ElementType::kBfloat16, other, sum);
  EXPECT_EQ(sum, At<uint16_t>(0, {ToBfloat16(258)}));
  auto own = At<uint16_t>(0, {one});
  AddElements(ElementType::kBfloat16, At<uint16_t>(0, {big}), own);
  EXPECT_EQ(own, At<uint16_t>(0, {big}));
}

TEST(ElementSumTest, SumsBlocksInOrder) {
  const float tiny = std::ldexp(1.0f, -24);
  // 1 + tiny rounds to 1, twice; tiny + tiny first is not lost.
  std::vector<std::byte> sum(4);
  SumBlocks(ElementType::kFloat32, At<float>(0, {1, tiny, tiny}), sum);
  EXPECT_EQ(sum, At<float>(0, {1}));
  SumBlocks(ElementType::kFloat32, At<float>(0, {tiny, tiny, 1}), sum);
  EXPECT_EQ(sum, At<float>(0, {1 + 2 * tiny}));
}

}  // namespace
}  // namespace gandem
