// SPDX-License-Identifier: Apache-2.0
//
// Prepares a network of the registry for its role: device, type, layout,
// autocast, recomputed blocks. Names and values of the state do not change.
//
// Thread safety: the compute thread. Errors: Torch exceptions.
#pragma once

#include <memory>

#include "models/network.h"
#include "training/compute/compute.h"

namespace gandem {

// Returns `network` or a wrapper that shares its tensors; use only the result.
// `recompute_blocks` requires a family with blocks (has_blocks).
std::shared_ptr<Generator> PlaceNetwork(std::shared_ptr<Generator> network,
                                        bool recompute_blocks,
                                        const Compute& compute);
std::shared_ptr<Discriminator> PlaceNetwork(
    std::shared_ptr<Discriminator> network, bool recompute_blocks,
    const Compute& compute);

// Prepares an averaged generator for sampling, in full precision.
std::shared_ptr<Generator> PlaceAtRest(std::shared_ptr<Generator> network,
                                       const Compute& compute);

}  // namespace gandem
