// SPDX-License-Identifier: Apache-2.0
//
// Run folders with checkpoints of networks that no training has made: another
// one for each step.
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
// The same with a generator that has styles and noise inputs.
RunConfig SmallStylegan2Config();

// The average that the checkpoint of `step` holds; the weights themselves are
// MakeAverage of step + kRawSteps.
inline constexpr int64_t kRawSteps = 1000;
std::shared_ptr<Generator> MakeAverage(const RunConfig& config, int64_t step);

// `made_by` made the networks, `config` is what the checkpoint says. So many
// ranks have written it.
void WriteCheckpoint(const std::string& run_dir, const RunConfig& config,
                     int64_t step, const RunConfig& made_by, int ranks = 1);
void WriteCheckpoint(const std::string& run_dir, const RunConfig& config,
                     int64_t step);

}  // namespace gandem::testing
