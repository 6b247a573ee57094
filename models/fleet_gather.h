// SPDX-License-Identifier: Apache-2.0
//
// Exchanges a row of numbers about a pass's images among the workers of a role,
// so that a network can use the rows of all workers. training/ implements
// FleetGather with a collective.
//
// Owner: shared by the layers that use it; outlives the graphs of their passes.
// Thread safety: one compute thread. Errors: an exception, after which the
// ranks are inconsistent and cannot continue.
#pragma once

#include <ATen/core/Tensor.h>

namespace gandem {

class FleetGather {
 public:
  virtual ~FleetGather() = default;
  // Returns the values of all ranks, by rank: [ranks, K]. Differentiable any
  // number of times: the gradient of a rank's row is the sum of all ranks'
  // gradients of that row. All ranks must call Gather, and run their backward
  // passes, in the same order with the same K.
  virtual at::Tensor Gather(const at::Tensor& values_K) = 0;
};

}  // namespace gandem
