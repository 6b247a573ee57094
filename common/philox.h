// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers: draws are pure functions of (seed, purpose,
// step, index), at any restart, fleet or prefetching (design.md section 5).
//
// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC11, section 3.3 and table 2.
//
// Owner: values; a stream is small, so make one per image.
// Thread safety: one thread per stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace gandem {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

PhiloxCounter Philox4x32_10(PhiloxCounter counter, PhiloxKey key);

// Purpose of a draw. The values determine the numbers of every run: never
// change or reuse one.
enum class Purpose : uint32_t {
  kGeneratorNoise = 1,
  kDiscriminatorNoise = 2,
  kGeneratorLabels = 3,
  kDataOrder = 4,
  kAugmentation = 5,
  kDropout = 6,
  kInit = 7,
  kSample = 8,
  kResampling = 9,
  kDiscriminatorLabels = 10,
  kSampleLabels = 11,
  // For the discriminator's step (12, 13) and the generator's (14, 15).
  kAugmentReal = 12,
  kAugmentGenerated = 13,
  kAugmentJudged = 14,
  kAugmentJudgedReal = 15,
  kConsistencyReal = 16,
  kConsistencyGenerated = 17,
  kPenaltyPoint = 18,
  kStandingStatistics = 20,
  kRollback = 21,
  kDataTransform = 22,
  // For data.order SHARDS: order of units, and order within windows of images.
  kUnitOrder = 23,
  kWindowOrder = 24,
  // Choice of the images whose path lengths are measured, and their directions.
  kPathLength = 25,
  kPathDirection = 26,
  // Simulated round times and worker failures (`gandem simulate`).
  kSimulatedJitter = 32,
  kSimulatedFailure = 33,
};

// Position of a batch's draws, independent of the seed: row n uses the stream
// of index first_index + n. Indices count over the whole batch of a step, so
// ranks and micro-batches draw the same numbers as one pass.
struct DrawPlace {
  Purpose purpose = Purpose::kDropout;
  int64_t step = 0;
  int64_t first_index = 0;
};

// Stream of the numbers of one (seed, purpose, step, index). Streams never
// overlap: the key is the seed, and the counter's 128 bits hold
//   word 0  number of the block of four words in the stream
//   word 1  index, bits 0 to 31
//   word 2  step, bits 0 to 31
//   word 3  purpose (bits 0 to 7), index bits 32 to 43 (bits 8 to 19),
//           step bits 32 to 43 (bits 20 to 31)
// Limits: step and index below 2^44, 2^32 blocks a stream; aborts beyond.
class PhiloxStream {
 public:
  PhiloxStream(uint64_t seed, Purpose purpose, uint64_t step, uint64_t index);

  uint32_t NextUint32();
  // Returns w0 << 32 | w1 for the next two words w0, w1.
  uint64_t NextUint64();
  // Returns a double in [0, 1): the top 53 bits of w1 << 32 | w0, times 2^-53.
  double NextUniform();
  // Returns an unbiased number in [0, bound); bound >= 1. Takes one or more
  // words (Lemire 2019, "Fast random integer generation in an interval").
  uint32_t NextBelow(uint32_t bound);
  // Returns a standard normal number (Box-Muller in double, two words for two
  // numbers): with u = (w0 + 1) * 2^-32 and v = w1 * 2^-32, first sqrt(-2 ln u)
  // * cos(2 pi v), then sqrt(-2 ln u) * sin(2 pi v), which is kept for the next
  // call regardless of draws in between. |x| <= 6.67.
  double NextNormal();
  // Sets each element to float(NextNormal()), in order.
  void FillNormal(std::span<float> out);

 private:
  PhiloxKey key_;
  PhiloxCounter counter_;
  PhiloxCounter block_ = {};
  int next_word_ = 4;  // in block_; 4: all used
  bool exhausted_ = false;
  bool has_spare_ = false;
  double spare_ = 0;
};

}  // namespace gandem
