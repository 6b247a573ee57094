// SPDX-License-Identifier: Apache-2.0
#include "exchange/encoding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "common/value_of_byte.h"

namespace gandem {
namespace {

std::vector<std::byte> Encoded(const std::vector<float>& values,
                               Encoding encoding) {
  std::vector<std::byte> bytes(values.size() * BytesPerElement(encoding));
  Encode(values, encoding, bytes);
  return bytes;
}

std::vector<float> RoundTrip(const std::vector<float>& values,
                             Encoding encoding) {
  std::vector<float> out(values.size());
  Decode(Encoded(values, encoding), encoding, out);
  return out;
}

uint16_t Bfloat16Bits(float value) {
  uint16_t bits = 0;
  std::memcpy(&bits, Encoded({value}, Encoding::kBfloat16).data(), 2);
  return bits;
}

int Level(float value) {
  return std::to_integer<int>(Encoded({value}, Encoding::kUint8)[0]);
}

TEST(EncodingTest, Float32KeepsEveryBit) {
  const std::vector<float> values = {-0.0f, 1.0f / 3,
                                     std::numeric_limits<float>::denorm_min(),
                                     std::bit_cast<float>(0x7fc12345u)};
  const std::vector<float> out = RoundTrip(values, Encoding::kFloat32);
  EXPECT_EQ(std::memcmp(values.data(), out.data(), 16), 0);
}

TEST(EncodingTest, Bfloat16RoundsToNearestEven) {
  EXPECT_EQ(Bfloat16Bits(std::bit_cast<float>(0x3f800000u)), 0x3f80);
  EXPECT_EQ(Bfloat16Bits(std::bit_cast<float>(0x3f807fffu)), 0x3f80);
  EXPECT_EQ(Bfloat16Bits(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(Bfloat16Bits(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(Bfloat16Bits(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(Bfloat16Bits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(Bfloat16Bits(-std::numeric_limits<float>::infinity()), 0xff80);
}

TEST(EncodingTest, Bfloat16KeepsNan) {
  // The second value's payload is in the bits that are cut off.
  EXPECT_TRUE(std::isnan(
      RoundTrip({std::bit_cast<float>(0x7fc00000u)}, Encoding::kBfloat16)[0]));
  EXPECT_TRUE(std::isnan(
      RoundTrip({std::bit_cast<float>(0xff800001u)}, Encoding::kBfloat16)[0]));
}

TEST(EncodingTest, Uint8IsLinearAndClamped) {
  EXPECT_EQ(Level(-1.0f), 0);
  EXPECT_EQ(Level(1.0f), 255);
  EXPECT_EQ(Level(0.0f), 128);  // a tie (127.5)
  EXPECT_EQ(Level(-1.5f), 0);
  EXPECT_EQ(Level(7.0f), 255);
  EXPECT_EQ(Level(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(Level(std::numeric_limits<float>::infinity()), 255);
  EXPECT_EQ(Level(std::nanf("")), 0);
}

TEST(EncodingTest, Uint8KeepsEveryLevel) {
  std::vector<std::byte> levels(256);
  for (int i = 0; i < 256; ++i) levels[i] = static_cast<std::byte>(i);
  std::vector<float> values(256);
  Decode(levels, Encoding::kUint8, values);
  EXPECT_EQ(values[0], -1.0f);
  EXPECT_EQ(values[255], 1.0f);
  EXPECT_EQ(Encoded(values, Encoding::kUint8), levels);
}

// If bytes equal those of a real image, the decoded floats are equal too.
TEST(EncodingTest, Uint8IsDecodedAsTheBytesOfADataset) {
  for (int b = 0; b < 256; ++b) {
    const std::byte byte{static_cast<uint8_t>(b)};
    float value = 0;
    Decode({&byte, 1}, Encoding::kUint8, {&value, 1});
    EXPECT_EQ(value, kValueOfByte[b]) << b;
    EXPECT_EQ(value, static_cast<float>(b / 127.5 - 1.0)) << b;
  }
}

TEST(EncodingTest, Uint8MatchesItsFormula) {
  std::vector<float> values;
  for (int i = -1100; i <= 1100; ++i) values.push_back(i / 1000.0f);
  const std::vector<std::byte> bytes = Encoded(values, Encoding::kUint8);
  for (size_t i = 0; i < values.size(); ++i) {
    const double level =
        std::clamp(std::nearbyint(127.5f * (values[i] + 1.0f)), 0.0f, 255.0f);
    EXPECT_EQ(std::to_integer<int>(bytes[i]), level) << values[i];
  }
}

}  // namespace
}  // namespace gandem
