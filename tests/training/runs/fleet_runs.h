// SPDX-License-Identifier: Apache-2.0
//
// Runs of several workers per role, and how they compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/checkpoint/safetensors.h"
#include "proto/config.pb.h"
#include "tests/training/runs/pair.h"

namespace gandem::testing {

// Returns `config` in float64, where the order of sums costs 1e-16 a step, with
// batches of 7.
RunConfig Float64(RunConfig config);

void SetWorkers(int generators, int discriminators, RunConfig& config);

// Decoupled. Expects that it succeeds.
SavedStates Train(const RunConfig& config, uint64_t delay_seed = 3);

// The state that a rank saved last.
const std::vector<NamedTensor>& Final(const SavedStates& states,
                                      const std::string& role, int rank);

// Relative L2 distance of the worst tensor with a fraction. A tensor that is 0
// except for rounding is compared with 1: biases before batch norm never move.
double Distance(const std::vector<NamedTensor>& a,
                const std::vector<NamedTensor>& b);

// All ranks of a role have saved the same bits.
void ExpectRanksAgree(const SavedStates& states, const RunConfig& config);

// Both roles' first ranks are closer than `limit`.
void ExpectClose(const SavedStates& states, const SavedStates& other,
                 double limit);

}  // namespace gandem::testing
