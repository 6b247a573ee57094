// SPDX-License-Identifier: Apache-2.0
//
// Which real image comes when (design.md section 5): sample j of discriminator
// step u is number n = u * B_D + j, that is place n mod size in the keyed
// permutation of epoch n div size. Nothing is dropped or repeated in an epoch,
// whatever the batch size.
//
// The permutation is a Feistel network of eight rounds on the b bits that hold
// size - 1: the high b / 2 bits are the left half, the others the right one.
// Even rounds xor the right half, odd ones the left, with the low bits of the
// first word of PhiloxStream(seed, kDataOrder, epoch, round << 32 | other
// half). A result outside [0, size) is fed back in until one is inside ("cycle
// walking": Black and Rogaway 2002, section 3), on average less than once. So a
// place needs no table and no other place.
//
// Owner: values; copy freely.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

namespace gandem {

class DataOrder {
 public:
  // `seed` is that of the run; `size` >= 1 is the number of images.
  DataOrder(uint64_t seed, int64_t size);

  // The image at `place` of [0, size) in epoch `epoch` >= 0.
  int64_t Permute(int64_t epoch, int64_t place) const;

  // The image that is number `number` >= 0 of the run.
  int64_t ImageOfSample(int64_t number) const {
    return Permute(number / size_, number % size_);
  }

 private:
  uint64_t Scramble(uint64_t epoch, uint64_t value) const;

  uint64_t seed_;
  int64_t size_;
  int left_bits_;
  int right_bits_;
};

}  // namespace gandem
