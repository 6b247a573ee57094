// SPDX-License-Identifier: Apache-2.0
//
// Run folders with checkpoints of untrained networks, which differ by step.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/network.h"
#include "proto/config.pb.h"

namespace gandem::testing {

inline constexpr uint64_t kRunSeed = 5;

RunConfig SmallConfig();
// SmallConfig() with a generator that has styles and noise inputs.
RunConfig SmallStylegan2Config();

// MakeAverage(step) is the averaged generator of that checkpoint; its raw
// weights are MakeAverage(step + kRawSteps).
inline constexpr int64_t kRawSteps = 1000;
std::shared_ptr<Generator> MakeAverage(const RunConfig& config, int64_t step);

// The checkpoint says `config`, but `made_by` makes its networks, as shards of
// `ranks` ranks.
void WriteCheckpoint(const std::string& run_dir, const RunConfig& config,
                     int64_t step, const RunConfig& made_by, int ranks = 1);
void WriteCheckpoint(const std::string& run_dir, const RunConfig& config,
                     int64_t step);

}  // namespace gandem::testing
