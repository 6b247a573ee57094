// SPDX-License-Identifier: Apache-2.0
//
// Validates an OptimizerConfig and resolves its optimism_rule. Ranges are in
// field_ranges.h.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/faults.h"
#include "proto/config.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

// Returns the family that is set; null means Adam.
const google::protobuf::FieldDescriptor* FamilyFieldOf(
    const OptimizerConfig& config);

// Adds faults with fields named prefix + "family.field". A config without a
// family means Adam with its defaults. `rounds` is the length of the run.
void CheckOptimizer(const std::string& prefix, const OptimizerConfig& config,
                    int64_t rounds, Faults& faults);

// LAG_MATCHED cancels the rotation that the lag adds to the game. In the
// bilinear game with lag L, R discriminator steps per round, optimism a_G and
// a_D and small learning rates, the distance to the solution grows per round by
// (L - a_G - a_D / R) / 2 times the product of both roles' movement per round
// (docs/optimizers.md derives this; tests/training/optimizers/lag_law_test.cc
// measures it). The least stable optimism is therefore a_G + a_D / R = L. The
// noise of an update grows with (1 + a)^2 + a^2, which is convex, so equal
// halves are best for R = 1. For R > 1 the discriminator pays R times the noise
// for 1 / R of the effect, so the generator gets all of the optimism.

// Returns the optimizer of `role` with optimism_rule resolved to FIXED.
OptimizerConfig ResolvedOptimizer(const RunConfig& config, Role role);

}  // namespace gandem
