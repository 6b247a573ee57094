// SPDX-License-Identifier: Apache-2.0
//
// FleetGather (models/fleet_gather.h) over a Collective of host memory: what
// sync batch norm and penalties over all images of a batch are made of.
//
//   SyncBatchNorm(*network, GatherOver(collective));
//
// A row of zeros with this rank's values in their place is summed over the
// ranks, which rounds nothing. The backward pass of a sum is the same sum of
// the gradients, and so differentiable again.
//
// These sums wait, within forward and backward passes, in between the buckets
// of gradients that the same pass sends (gradient_buckets.h). All ranks still
// submit the same operations in the same order: their graphs are made by the
// same code from the same number of micro-batches
// (common/config/fleet_validate.cc), whatever is in the images, and one thread
// runs a graph in an order that depends on the graph alone.
//
// Owner: the role. The collective outlives it and all graphs of its passes.
// Thread safety: one compute thread, or autograd's of a device while that
// waits. Errors: StatusError (catch_torch.h) with that of Collective::Wait. It
// has no deadline of its own: it waits until the sum is done or the collective
// is over, which whoever watches the worker decides with Close.
#pragma once

#include <memory>

#include "collective/collective.h"
#include "models/fleet_gather.h"

namespace gandem {

std::shared_ptr<FleetGather> GatherOver(Collective* collective);

}  // namespace gandem
