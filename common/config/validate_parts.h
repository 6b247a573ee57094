// SPDX-License-Identifier: Apache-2.0
//
// The parts of ValidateRunConfig that have a source of their own. Each adds
// every fault: its field, its value, and what to change.
//
// Thread safety: pure functions.
#pragma once

#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {

// Everything that ValidateRunConfig finds.
Faults FaultsOf(const RunConfig& config);

// Losses, penalties and augmentation, and whether the rest of the config gives
// them what they need.
void CheckLosses(const RunConfig& config, Faults& faults);

// Does a discriminator of this kind have batch norm? A penalty on the gradient
// of each image by itself has no meaning then (traps.md 7).
bool DiscriminatorHasBatchNorm(const NetworkConfig& network);

// Is the deviation of several images a feature of each (StyleGAN2)? Penalties
// are defined on it as they are, but an image's logit is not its own affair.
bool DiscriminatorComparesImages(const NetworkConfig& network);

// schedule.feedback FUSED: what its schedule and its losses have to be.
void CheckFused(const RunConfig& config, Faults& faults);

// optimizer.optimism_rule LAG_MATCHED: whether the lag can be matched.
void CheckOptimism(const RunConfig& config, Faults& faults);

// control.noise_scale_every_rounds: whether a role can be measured.
void CheckNoiseScale(const RunConfig& config, Faults& faults);

// Precisions of both roles and of the exchange between them, and loss scales.
void CheckPrecision(const RunConfig& config, Faults& faults);

// Several workers per role: what each can do by itself, and what needs all
// images of a batch in one place.
void CheckFleets(const RunConfig& config, Faults& faults);

}  // namespace gandem
