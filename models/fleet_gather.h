// SPDX-License-Identifier: Apache-2.0
//
// What a network can know of the images that other workers of its role have in
// their passes: a row of numbers from each. training/ implements it over a
// collective.
//
// Owner: shared by the layers that use it. It outlives the graphs of their
// passes. Thread safety: one compute thread.
// Errors: an exception, and then there is no way on: the ranks have parted.
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
