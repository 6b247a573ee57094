// SPDX-License-Identifier: Apache-2.0
//
// Adapts networks of a user's own worker program (gandem/own_networks.h):
// forward modes become train() and restored buffers, and initial values are
// those of the constructor with seeded draws. Network names are set once per
// process, before networks are made.
//
// Owner: the registry. Thread safety: SetOwnNetworks before threads start,
// everything else from any thread; networks as in models/network.h. Errors:
// Status for names; Torch exceptions for results that a role cannot use.
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

//   INVALID_ARGUMENT  a name is empty or duplicate.
absl::Status SetOwnNetworks(std::vector<OwnNetworks> networks);

//   INVALID_ARGUMENT  this program has no networks of that name; lists the
//                     names, or says how to start a program with networks.
absl::StatusOr<std::shared_ptr<Generator>> MakeOwnGenerator(
    const OwnConfig& config, const DataShape& data);
absl::StatusOr<std::shared_ptr<Discriminator>> MakeOwnDiscriminator(
    const OwnConfig& config, const DataShape& data);

}  // namespace gandem
