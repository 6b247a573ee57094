// SPDX-License-Identifier: Apache-2.0
//
// What optimizer.optimism_rule LAG_MATCHED makes of a config: optimism that
// takes out the rotation which a lag adds to a game.
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
//
// Thread safety: pure functions.
#pragma once

#include "proto/config.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

// The optimizer of GENERATOR or DISCRIMINATOR with its optimism as a number:
// the rule is FIXED.
OptimizerConfig ResolvedOptimizer(const RunConfig& config, Role role);

// What of the lag optimism leaves, in rounds: L - a_G - a_D / R. Above 0: the
// bilinear game spirals outwards.
double UnmatchedLag(const RunConfig& config);

}  // namespace gandem
