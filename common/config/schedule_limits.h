// SPDX-License-Identifier: Apache-2.0
//
// How far a schedule may go. A config is checked against these limits, and so
// are the options of the exchange, which counts and stores by them.
//
// Thread safety: constants.
#pragma once

#include <cstdint>

namespace gandem {

inline constexpr int64_t kMaxRounds = 1'000'000'000;
inline constexpr int64_t kMaxLag = 64;
inline constexpr int64_t kMaxStepsPerRound = 1000;
inline constexpr int64_t kMaxSamplesPerImage = 1000;
inline constexpr int64_t kMaxCacheRounds = 1024;
// Images of a step: batch_size times sync.interval.
inline constexpr int64_t kMaxStepBatch = 65536;

}  // namespace gandem
