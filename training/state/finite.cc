// SPDX-License-Identifier: Apache-2.0
#include "training/state/finite.h"

#include <cmath>

#include "models/torch.h"

namespace gandem {

bool IsFinite(const at::Tensor& values) {
  if (!values.is_floating_point() || values.numel() == 0) return true;
  // Unlike a sum, the smallest and the largest value cannot overflow; NaN is
  // both.
  const auto [smallest, largest] = at::aminmax(values.detach());
  return std::isfinite(smallest.item<double>()) &&
         std::isfinite(largest.item<double>());
}

}  // namespace gandem
