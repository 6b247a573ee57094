// SPDX-License-Identifier: Apache-2.0
//
// Networks of a user's own worker program (gandem/own_networks.h), as the rest
// of gandem knows networks: forward modes become train() and buffers that are
// put back, first values those of a constructor whose draws are seeded.
//
// The names are the process's, given once before there is a network.
//
// Owner: the registry. Thread safety: SetOwnNetworks before threads start, then
// any thread; a network as models/network.h says.
// Errors: Status for names; Torch exceptions for what a network returns that
// its role cannot use.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/data_shape.h"
#include "gandem/own_networks.h"
#include "models/network.h"

namespace gandem {

class OwnConfig;  // proto/config.proto

//   INVALID_ARGUMENT     a name is empty or stands twice.
absl::Status SetOwnNetworks(std::vector<OwnNetworks> networks);

//   INVALID_ARGUMENT  this program has no networks of that name; says which it
//                     has, or how to start one that has some.
absl::StatusOr<std::shared_ptr<Generator>> MakeOwnGenerator(
    const OwnConfig& config, const DataShape& data);
absl::StatusOr<std::shared_ptr<Discriminator>> MakeOwnDiscriminator(
    const OwnConfig& config, const DataShape& data);

}  // namespace gandem
