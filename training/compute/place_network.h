// SPDX-License-Identifier: Apache-2.0
//
// From a network of the registry to one that computes as its role's does:
// device, type, layout, autocast, recomputed blocks. Names and values of its
// state are the same.
//
// Thread safety: the compute thread.
// Errors: Torch exceptions.
#pragma once

#include <memory>

#include "models/network.h"
#include "training/compute/compute.h"

namespace gandem {

// `network` itself, or a wrapper that shares its tensors; use only the result.
// With `recompute_blocks` it has some (has_blocks of its family).
std::shared_ptr<Generator> PlaceNetwork(std::shared_ptr<Generator> network,
                                        bool recompute_blocks,
                                        const Compute& compute);
std::shared_ptr<Discriminator> PlaceNetwork(
    std::shared_ptr<Discriminator> network, bool recompute_blocks,
    const Compute& compute);

// For sampling, in full precision: an average.
std::shared_ptr<Generator> PlaceAtRest(std::shared_ptr<Generator> network,
                                       const Compute& compute);

}  // namespace gandem
