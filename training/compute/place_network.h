// SPDX-License-Identifier: Apache-2.0
//
// From a network of the registry to one that computes as a role's config says:
// device, type, layout, autocast, recomputed blocks. Names and values of its
// state are the same.
//
// Thread safety: the compute thread.
// Errors: INVALID_ARGUMENT where recompute_blocks is set and there are no
// blocks; Torch exceptions.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "models/network.h"
#include "proto/config.pb.h"
#include "training/compute/compute.h"

namespace gandem {

// `network` itself, or a wrapper that shares its tensors; use only the result.
absl::StatusOr<std::shared_ptr<Generator>> PlaceNetwork(
    std::shared_ptr<Generator> network, const RoleConfig& role,
    const Compute& compute);
absl::StatusOr<std::shared_ptr<Discriminator>> PlaceNetwork(
    std::shared_ptr<Discriminator> network, const RoleConfig& role,
    const Compute& compute);

// For sampling, in full precision: an average.
std::shared_ptr<Generator> PlaceAtRest(std::shared_ptr<Generator> network,
                                       const Compute& compute);

}  // namespace gandem
