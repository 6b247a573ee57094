// SPDX-License-Identifier: Apache-2.0
#include "training/state/finite.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/torch.h"
#include "training/state/stored_values.h"

namespace gandem {
namespace {

bool IsInfinite(const NamedTensor& tensor) {
  const std::optional<at::ScalarType> type = FloatingTypeOf(tensor.dtype);
  if (!type.has_value() || tensor.bytes.empty()) return false;
  // Only read.
  void* const bytes = const_cast<std::byte*>(tensor.bytes.data());
  return !IsFinite(at::from_blob(bytes,
                                 {static_cast<int64_t>(tensor.bytes.size()) /
                                  BytesPerElement(tensor.dtype)},
                                 *type));
}

}  // namespace

bool IsFinite(const at::Tensor& values) {
  if (!values.is_floating_point() || values.numel() == 0) return true;
  // Unlike a sum, the smallest and the largest value cannot overflow; NaN is
  // both.
  const auto [smallest, largest] = at::aminmax(values.detach());
  return std::isfinite(smallest.item<double>()) &&
         std::isfinite(largest.item<double>());
}

const NamedTensor* FindInfinite(std::span<const NamedTensor> tensors) {
  const auto found = std::ranges::find_if(tensors, IsInfinite);
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace gandem
