// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/tensor_norms.h"

#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/stack.h>

namespace gandem {

std::vector<double> Norms(const Tensors& tensors) {
  // One transfer from the device for all of them.
  const at::Tensor norms =
      at::stack(at::_foreach_norm(tensors)).to(at::kCPU, at::kDouble);
  const double* const data = norms.const_data_ptr<double>();
  return {data, data + norms.numel()};
}

}  // namespace gandem
