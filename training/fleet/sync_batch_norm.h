// SPDX-License-Identifier: Apache-2.0
//
// FleetGather (models/fleet_gather.h) over a Collective of host memory, for
// sync batch norm and for penalties over all images of a batch.
//
//   SyncBatchNorm(*network, GatherOver(collective));
//
// Each rank contributes zeros with its own values at its place; the sum over
// the ranks is exact. The gradient of the sum is the sum of the ranks'
// gradients, which is differentiable too.
//
// These sums block forward and backward passes, between the buckets of
// gradients that the same pass sends (gradient_buckets.h). All ranks submit the
// same operations in the same order: the same code builds their graphs from the
// same number of micro-batches (common/config/fleet_validate.cc), independent
// of the images, and one thread runs a graph in an order given by the graph
// alone.
//
// Owner: the role. The collective outlives it and all graphs of its passes.
// Thread safety: one compute thread, or autograd's thread of a device while the
// compute thread waits. Errors: StatusError (catch_torch.h) with the status of
// Collective::Wait. There is no deadline: a sum waits until it is done or the
// supervisor of the worker closes the collective.
#pragma once

#include <memory>

#include "collective/collective.h"
#include "models/fleet_gather.h"

namespace gandem {

std::shared_ptr<FleetGather> GatherOver(Collective* collective);

}  // namespace gandem
