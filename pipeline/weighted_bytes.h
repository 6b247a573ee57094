// SPDX-License-Identifier: Apache-2.0
//
// Weighted sums of bytes by vectors of any CPU, kByteBlock of them beside each
// other; for loops that RunVectorized runs (common/vectorized.h).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace gandem {

inline constexpr int64_t kByteBlock = 64;
inline constexpr int kWeightBits = 22;  // weights are in units of 2^-22

namespace weighted_bytes_internal {

using Words [[gnu::vector_size(32)]] = uint32_t;
using Sums [[gnu::vector_size(32)]] = int32_t;
using Bytes [[gnu::vector_size(16)]] = uint8_t;
inline constexpr int kVectors = kByteBlock / sizeof(Words);

// To 0 to 255. (By reference: how vectors of this size are passed differs by
// CPU.)
[[gnu::always_inline]] inline void RoundToBytes(Sums& sums) {
  sums >>= kWeightBits;
  sums &= sums >= 0;
  sums = (sums | (sums > 255)) & 255;
}

}  // namespace weighted_bytes_internal

// to[i] = the sum over k of weights[k] * from[k * step + i], rounded to 0 to
// 255, for all i of a block.
[[gnu::always_inline]] inline void WeightedBytes(
    const uint8_t* from, int64_t step, std::span<const int32_t> weights,
    uint8_t* to) {
  using weighted_bytes_internal::kVectors;
  using weighted_bytes_internal::RoundToBytes;
  using weighted_bytes_internal::Sums;
  using weighted_bytes_internal::Words;
  // Four bytes lie in each word of a vector. Each of them has sums of its own
  // and comes back to its place, so nothing is shuffled, and all sums stay in
  // registers.
  Sums sums[kVectors][4];
#pragma GCC unroll 8
  for (auto& of_vector : sums) {
#pragma GCC unroll 8
    for (Sums& sum : of_vector) sum = Sums{} + (1 << (kWeightBits - 1));
  }
  for (const int32_t weight : weights) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      Words words;
      std::memcpy(&words, from + v * sizeof(Words), sizeof(Words));
#pragma GCC unroll 8
      for (int byte = 0; byte < 4; ++byte) {
        sums[v][byte] +=
            reinterpret_cast<Sums>((words >> (8 * byte)) & 255) * weight;
      }
    }
    from += step;
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    Words words = {};
#pragma GCC unroll 8
    for (int byte = 0; byte < 4; ++byte) {
      RoundToBytes(sums[v][byte]);
      words |= reinterpret_cast<Words>(sums[v][byte]) << (8 * byte);
    }
    std::memcpy(to + v * sizeof(Words), &words, sizeof(Words));
  }
}

// to(c)[r] = from(r)[c] for 16 rows and 16 columns that begin at (row, column).
template <typename From, typename To>
[[gnu::always_inline]] inline void Transpose16(const From& from, int64_t row,
                                               int64_t column, const To& to) {
  using weighted_bytes_internal::Bytes;
  Bytes all[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) std::memcpy(&all[i], from(row + i) + column, 16);
    // Four times the rows of the upper and of the lower half are put between
    // each other, as cards are shuffled: then each is in its column.
#pragma GCC unroll 4
  for (int turn = 0; turn < 4; ++turn) {
    Bytes next[16];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      next[2 * i] =
          __builtin_shufflevector(all[i], all[i + 8], 0, 16, 1, 17, 2, 18, 3,
                                  19, 4, 20, 5, 21, 6, 22, 7, 23);
      next[2 * i + 1] =
          __builtin_shufflevector(all[i], all[i + 8], 8, 24, 9, 25, 10, 26, 11,
                                  27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) all[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) std::memcpy(to(column + i) + row, &all[i], 16);
}

// to(c)[r] = from(r)[c] for all rows and columns.
template <typename From, typename To>
[[gnu::always_inline]] inline void TransposeBytes(int64_t rows, int64_t columns,
                                                  const From& from,
                                                  const To& to) {
  for (int64_t row = 0; row < rows; row += 16) {
    for (int64_t column = 0; column < columns; column += 16) {
      if (row + 16 <= rows && column + 16 <= columns) {
        Transpose16(from, row, column, to);
        continue;
      }
      for (int64_t r = row; r < row + 16 && r < rows; ++r) {
        for (int64_t c = column; c < column + 16 && c < columns; ++c) {
          to(c)[r] = from(r)[c];
        }
      }
    }
  }
}

}  // namespace gandem
