// SPDX-License-Identifier: Apache-2.0
//
// How many images go through a network at a time.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>

#include "proto/config.pb.h"

namespace gandem {

// Images of one forward pass of a worker; 0: all that it has in an update. Of
// several batches of an update each goes through the network by itself.
int64_t MicroBatch(const RoleConfig& role);

}  // namespace gandem
