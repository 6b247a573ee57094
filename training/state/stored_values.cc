// SPDX-License-Identifier: Apache-2.0
#include "training/state/stored_values.h"

#include "models/torch.h"

namespace gandem {

std::optional<at::ScalarType> FloatingTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return at::kFloat;
    case DType::kF64:
      return at::kDouble;
    case DType::kF16:
      return at::kHalf;
    case DType::kBF16:
      return at::kBFloat16;
    default:
      return std::nullopt;
  }
}

std::optional<at::Tensor> FloatValuesOf(const NamedTensor& tensor) {
  const std::optional<at::ScalarType> type = FloatingTypeOf(tensor.dtype);
  if (!type.has_value()) return std::nullopt;
  // from_blob() wants no constness; to() copies.
  return torch::from_blob(const_cast<std::byte*>(tensor.bytes.data()),
                          tensor.shape, *type)
      .to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace gandem
