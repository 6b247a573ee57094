// SPDX-License-Identifier: Apache-2.0
//
// Shares a row of numbers about the images of a pass among the workers of a
// role, so that a network can use the rows of all workers. training/ implements
// it over a collective.
//
// Owner: shared by the layers that use it. It outlives the graphs of their
// passes. Thread safety: one compute thread.
// Errors: an exception, after which the ranks are out of step and cannot
// continue.
#pragma once

#include <ATen/core/Tensor.h>

namespace gandem {

class FleetGather {
 public:
  virtual ~FleetGather() = default;
  // The values of all ranks, by rank: [ranks, K]. Differentiable as often as
  // one likes: the gradient of a rank's row is the sum of what all ranks make
  // of that row. All ranks call it in the same order with the same K, and so
  // run their backward passes.
  virtual at::Tensor Gather(const at::Tensor& values_K) = 0;
};

}  // namespace gandem
