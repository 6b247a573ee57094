// SPDX-License-Identifier: Apache-2.0
//
// Parts of ValidateRunConfig in separate sources. Each fault names a field, its
// value and what to change.
//
// Thread safety: pure functions.
#pragma once

#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {

// Returns all faults of a config.
Faults FaultsOf(const RunConfig& config);

// Checks losses, penalties and augmentation against other fields.
void CheckLosses(const RunConfig& config, Faults& faults);

// Returns whether the discriminator has batch norm. A gradient penalty per
// image is meaningless with batch norm (traps.md 7).
bool DiscriminatorHasBatchNorm(const NetworkConfig& network);

// Returns whether an image's logit depends on other images (StyleGAN2's
// standard deviation feature). Penalties are still applied to such logits.
bool DiscriminatorComparesImages(const NetworkConfig& network);

// Checks schedule and losses for schedule.feedback FUSED.
void CheckFused(const RunConfig& config, Faults& faults);

// Checks whether optimizer.optimism_rule LAG_MATCHED can match the lag.
void CheckOptimism(const RunConfig& config, Faults& faults);

// Checks whether control.noise_scale_every_rounds can measure a role.
void CheckNoiseScale(const RunConfig& config, Faults& faults);

// Checks precisions of both roles and of their exchange, and loss scales.
void CheckPrecision(const RunConfig& config, Faults& faults);

// Checks roles with several workers: losses and layers that need a whole batch.
void CheckFleets(const RunConfig& config, Faults& faults);

}  // namespace gandem
