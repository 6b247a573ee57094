// SPDX-License-Identifier: Apache-2.0
//
// Checks that the fields of an OptimizerConfig go together, and makes a number
// of its optimism_rule. ValidateRunConfig asks for both roles, MakeOptimizer
// (training/optimizers) for the one that it makes. Ranges are in
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

// The family that is set; null: none, which counts as Adam.
const google::protobuf::FieldDescriptor* FamilyFieldOf(
    const OptimizerConfig& config);

// Adds every fault, its field named prefix + "family.field". A config without
// a family counts as Adam with its defaults. `rounds` are those of the run.
void CheckOptimizer(const std::string& prefix, const OptimizerConfig& config,
                    int64_t rounds, Faults& faults);

// LAG_MATCHED is optimism that takes out the rotation which a lag adds to a
// game.
//
// In the bilinear game with lag L, R discriminator steps a round, optimism a_G
// and a_D and small learning rates, the distance to the solution grows in a
// round by (L - a_G - a_D / R) / 2 times the product of both roles' way per
// round (docs/optimizers.md has the derivation;
// tests/training/optimizers/lag_law_test.cc measures it). So a_G + a_D / R = L
// is the least optimism on the stable side. An update has noise in proportion
// to (1 + a)^2 + a^2, which is convex: halves are the cheapest for R = 1. For R
// > 1 the discriminator pays its noise R times for 1 / R of the effect: all of
// it is the generator's.

// The optimizer of GENERATOR or DISCRIMINATOR with its optimism as a number:
// the rule is FIXED.
OptimizerConfig ResolvedOptimizer(const RunConfig& config, Role role);

}  // namespace gandem
