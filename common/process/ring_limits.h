// SPDX-License-Identifier: Apache-2.0
//
// Numbers of the ring between the processes of a fleet. collective/ keeps to
// them, and the cost model of scaling_manager/ counts time and memory by them.
//
// Thread safety: constants and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gandem {

// Bytes of a chunk at most.
inline constexpr int64_t kRingChunkBytes = int64_t{1} << 20;
// Chunks that a rank sends ahead of what it has received.
inline constexpr size_t kSendWindow = 4;
// A sum is small if a rank sends at most this many bytes to all others.
inline constexpr int64_t kSmallSumBytes = int64_t{64} << 10;
// A sum is short if its segments have at most this many bytes.
inline constexpr int64_t kShortSegmentBytes = int64_t{16} << 10;
// Rings of at most this many ranks have hardly more messages than what short
// sums do instead.
inline constexpr int kFewRanks = 4;

// Chunks to one rank, of `ranks`, that may be under way or in use at once: the
// shared memory between two ranks of a host has this many slots.
constexpr size_t MostChunksUnderWay(int ranks) {
  return kSendWindow * static_cast<size_t>(ranks + 2);
}

}  // namespace gandem
