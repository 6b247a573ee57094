// SPDX-License-Identifier: Apache-2.0
//
// A permutation of [0, size) for each turn. Any value is computed without a
// table and without the other values.
//
// A Feistel network of eight rounds on the b bits of size - 1. The left half
// has the high b / 2 bits. Even rounds xor the right half, odd rounds the left
// one, with the low bits of the first word of PhiloxStream(seed, purpose, turn,
// round << 32 | other half). Results outside [0, size) are fed back in ("cycle
// walking": Black and Rogaway 2002, section 3), on average less than once.
//
// Owner: values; copy freely. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "common/philox.h"

namespace gandem {

class KeyedPermutation {
 public:
  // `seed` is the run's seed; `size` >= 1.
  KeyedPermutation(uint64_t seed, Purpose purpose, int64_t size);

  // Returns the value for `turn` >= 0 and `place` in [0, size).
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
