// SPDX-License-Identifier: Apache-2.0
//
// Limits of the ring between the processes of a fleet, shared by collective/
// and the cost model of scaling_manager/.
//
// Thread safety: constants and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gandem {

// Maximum size of a chunk.
inline constexpr int64_t kRingChunkBytes = int64_t{1} << 20;
// Chunks that a rank sends ahead of the chunks that it has received.
inline constexpr size_t kSendWindow = 4;
// A sum is small if a rank sends at most this many bytes to all others.
inline constexpr int64_t kSmallSumBytes = int64_t{64} << 10;
// A sum is short if its segments have at most this many bytes.
inline constexpr int64_t kShortSegmentBytes = int64_t{16} << 10;
// Rings of at most this many ranks do not use the algorithm for short sums,
// because it would hardly save messages.
inline constexpr int kFewRanks = 4;

// Maximum number of chunks in transit or in use between two of `ranks` ranks.
// The shared memory between two ranks of a host has this many slots.
constexpr size_t MostChunksUnderWay(int ranks) {
  return kSendWindow * static_cast<size_t>(ranks + 2);
}

}  // namespace gandem
