// SPDX-License-Identifier: Apache-2.0
//
// Makes networks from a NetworkConfig, on the CPU in float32. Parameters are
// constants until InitializeParameters (initialize.h) or a checkpoint sets
// them. Further calls make copies for critics and averages.
//
// Owner: the caller. Thread safety: any thread.
// Errors:
//   INVALID_ARGUMENT     lists every field that is out of range, or says that
//                        the family is missing, does not support the image size
//                        or requires labels.
//   FAILED_PRECONDITION  the family is `python`, and this program has no
//                        NetworkHost (models/families/network_host.h), whose
//                        exceptions are not caught.
#pragma once

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "common/config/data_shape.h"
#include "models/families/family.h"
#include "models/network.h"

namespace gandem {

class NetworkConfig;  // proto/config.proto

// Returns all families except `own`, in the order of NetworkConfig's fields.
std::span<const NetworkFamily> AllFamilies();

// Returns null if `config` has no family, or user networks
// (models/own/own_networks.h).
const NetworkFamily* FamilyOf(const NetworkConfig& config);

absl::StatusOr<std::shared_ptr<Generator>> MakeGenerator(
    const NetworkConfig& config, const DataShape& data);
absl::StatusOr<std::shared_ptr<Discriminator>> MakeDiscriminator(
    const NetworkConfig& config, const DataShape& data);

}  // namespace gandem
