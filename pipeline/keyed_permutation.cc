// SPDX-License-Identifier: Apache-2.0
#include "pipeline/keyed_permutation.h"

#include <bit>

#include "common/check.h"

namespace gandem {
namespace {

// More than the four rounds of Luby and Rackoff: for few images a half has only
// one or two bits, and four rounds would visibly favor some orders.
constexpr uint64_t kRounds = 8;

constexpr uint64_t LowBits(uint64_t value, int bits) {
  return value & ((uint64_t{1} << bits) - 1);
}

}  // namespace

KeyedPermutation::KeyedPermutation(uint64_t seed, Purpose purpose, int64_t size)
    : seed_(seed), purpose_(purpose), size_(size) {
  GANDEM_CHECK(size >= 1);
  const int bits = std::bit_width(static_cast<uint64_t>(size - 1));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
}

// Computes a bijection of [0, 2^(left_bits_ + right_bits_)).
uint64_t KeyedPermutation::Scramble(uint64_t turn, uint64_t value) const {
  uint64_t left = value >> right_bits_;
  uint64_t right = LowBits(value, right_bits_);
  for (uint64_t round = 0; round < kRounds; ++round) {
    const bool even = round % 2 == 0;
    const uint64_t half = even ? left : right;
    PhiloxStream stream(seed_, purpose_, turn, round << 32 | half);
    const uint64_t mask = stream.NextUint32();
    if (even) {
      right ^= LowBits(mask, right_bits_);
    } else {
      left ^= LowBits(mask, left_bits_);
    }
  }
  return left << right_bits_ | right;
}

int64_t KeyedPermutation::At(int64_t turn, int64_t place) const {
  GANDEM_CHECK(turn >= 0 && place >= 0 && place < size_);
  uint64_t value = static_cast<uint64_t>(place);
  do {
    value = Scramble(static_cast<uint64_t>(turn), value);
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

}  // namespace gandem
