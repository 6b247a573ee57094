// SPDX-License-Identifier: Apache-2.0
//
// What a config may say about losses, penalties and augmentation, and whether
// the rest of it gives them what they need. Part of ValidateRunConfig.
//
// Thread safety: pure functions.
#pragma once

#include "common/faults.h"
#include "proto/config.pb.h"

namespace gandem {

// Adds every fault: its field, its value, and what to change.
void CheckLosses(const RunConfig& config, Faults& faults);

// Does a discriminator of this kind have batch norm? A penalty on the gradient
// of each image by itself has no meaning then (traps.md 7).
bool DiscriminatorHasBatchNorm(const NetworkConfig& network);

}  // namespace gandem
