// SPDX-License-Identifier: Apache-2.0
//
// Runs with several workers per role, and their comparison.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/checkpoint/safetensors.h"
#include "proto/config.pb.h"
#include "tests/training/runs/pair.h"

namespace gandem::testing {

// Returns `config` in float64, where the order of sums costs 1e-16 per step,
// with batches of 7.
RunConfig Float64(RunConfig config);

void SetWorkers(int generators, int discriminators, RunConfig& config);

// Runs `config` decoupled and expects success.
SavedStates Train(const RunConfig& config, uint64_t delay_seed = 3);

// Returns the last saved state of a rank.
const std::vector<NamedTensor>& Final(const SavedStates& states,
                                      const std::string& role, int rank);

// Returns the relative L2 distance of the worst fractional tensor. A tensor
// that is 0 except for rounding is compared with 1 (biases before batch norm).
double Distance(const std::vector<NamedTensor>& a,
                const std::vector<NamedTensor>& b);

// Expects that all ranks of a role have saved the same bits.
void ExpectRanksAgree(const SavedStates& states, const RunConfig& config);

// Expects that the first ranks of both roles are closer than `limit`.
void ExpectClose(const SavedStates& states, const SavedStates& other,
                 double limit);

}  // namespace gandem::testing
