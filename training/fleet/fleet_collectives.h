// SPDX-License-Identifier: Apache-2.0
//
// Collectives of a fleet for one membership: a ring moves host memory and
// suffices for everything; NCCL moves only GPU memory and is optional.
#pragma once

#include <c10/core/Device.h>

#include "collective/collective.h"

namespace gandem {

struct FleetCollectives {
  FleetCollectives() = default;
  // Implicit, since one ring suffices for a fleet.
  FleetCollectives(Collective* ring)  // NOLINT(google-explicit-constructor)
      : tensors(ring), host(ring) {}

  // For buffers on `device`; null if there is only one worker.
  Collective* tensors = nullptr;
  // For buffers on the host.
  Collective* host = nullptr;
  c10::Device device = c10::kCPU;
};

}  // namespace gandem
