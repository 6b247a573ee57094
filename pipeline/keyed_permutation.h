// SPDX-License-Identifier: Apache-2.0
//
// A permutation of [0, size) for each turn, of which any value can be asked
// without a table and without the others.
//
// It is a Feistel network of eight rounds on the b bits that hold size - 1: the
// high b / 2 bits are the left half, the others the right one. Even rounds xor
// the right half, odd ones the left, with the low bits of the first word of
// PhiloxStream(seed, purpose, turn, round << 32 | other half). A result outside
// [0, size) is fed back in until one is inside ("cycle walking": Black and
// Rogaway 2002, section 3), on average less than once.
//
// Owner: values; copy freely.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "common/philox.h"

namespace gandem {

class KeyedPermutation {
 public:
  // `seed` is the run's seed; `size` >= 1.
  KeyedPermutation(uint64_t seed, Purpose purpose, int64_t size);

  // `turn` >= 0; `place` is of [0, size).
  int64_t At(int64_t turn, int64_t place) const;

 private:
  uint64_t Scramble(uint64_t turn, uint64_t value) const;

  uint64_t seed_;
  Purpose purpose_;
  int64_t size_;
  int left_bits_;
  int right_bits_;
};

}  // namespace gandem
