// SPDX-License-Identifier: Apache-2.0
//
// Implements FleetGather (models/fleet_gather.h) with a Collective of host
// memory, for sync batch norm and for penalties over all images of a batch.
//
//   SyncBatchNorm(*network, GatherOver(collective));
//
// Each rank contributes its own values and zeros elsewhere, so the sum over the
// ranks is exact. The gradient of the sum is the sum of the ranks' gradients,
// which is differentiable, too.
//
// The sums block forward and backward passes, between the gradient buckets of
// the same pass (gradient_buckets.h). All ranks submit the same operations in
// the same order: their graphs are built by the same code from the same number
// of micro-batches (common/config/fleet_validate.cc), independent of the
// images, and executed by one thread in an order determined by the graph.
//
// Owner: the role. The collective outlives it and all graphs of its passes.
// Thread safety: one compute thread, or autograd's thread of a device while the
// compute thread waits. Errors: StatusError (catch_torch.h) with the status of
// Collective::Wait. There is no deadline: a sum waits until it is complete or
// the worker's supervisor closes the collective.
#pragma once

#include <memory>

#include "collective/collective.h"
#include "models/fleet_gather.h"

namespace gandem {

std::shared_ptr<FleetGather> GatherOver(Collective* collective);

}  // namespace gandem
