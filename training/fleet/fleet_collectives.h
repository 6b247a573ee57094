// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a fleet compute with, for one membership. A ring moves
// bytes of the host and so does all; NCCL moves those of GPUs only, so that a
// fleet with it has both.
#pragma once

#include <c10/core/Device.h>

#include "collective/collective.h"

namespace gandem {

struct FleetCollectives {
  FleetCollectives() = default;
  // A ring. Implicit, for it is a whole fleet.
  FleetCollectives(Collective* ring)  // NOLINT(google-explicit-constructor)
      : tensors(ring), host(ring) {}

  // For buffers on `device`; null: this worker is the only one.
  Collective* tensors = nullptr;
  // For buffers on the host.
  Collective* host = nullptr;
  c10::Device device = c10::kCPU;
};

}  // namespace gandem
