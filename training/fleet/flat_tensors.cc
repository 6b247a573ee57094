// SPDX-License-Identifier: Apache-2.0
#include "training/fleet/flat_tensors.h"

#include "common/check.h"
#include "models/torch.h"

namespace gandem {

FlatTensors::FlatTensors(const std::vector<at::Tensor>& like,
                         at::ScalarType type, int64_t extra,
                         at::Device device) {
  int64_t count = extra;
  for (const at::Tensor& tensor : like) count += tensor.numel();
  flat_ = torch::zeros({count}, torch::dtype(type).device(device));
  int64_t first = 0;
  for (const at::Tensor& tensor : like) {
    views_.push_back(
        flat_.narrow(0, first, tensor.numel()).view(tensor.sizes()));
    first += tensor.numel();
  }
  views_.push_back(flat_.narrow(0, first, extra));
}

std::span<std::byte> FlatTensors::bytes() const { return BytesOf(flat_); }

ElementType FlatTensors::element_type() const {
  switch (flat_.scalar_type()) {
    case at::kDouble:
      return ElementType::kFloat64;
    case at::kBFloat16:
      return ElementType::kBfloat16;
    case at::kHalf:
      return ElementType::kFloat16;
    default:
      GANDEM_CHECK(flat_.scalar_type() == at::kFloat);
      return ElementType::kFloat32;
  }
}

std::vector<std::vector<at::Tensor>> SplitIntoBuckets(
    const std::vector<at::Tensor>& tensors, int64_t limit_bytes) {
  std::vector<std::vector<at::Tensor>> buckets;
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    const auto size = static_cast<int64_t>(tensor.nbytes());
    bytes += size;
    if (buckets.empty() || bytes > limit_bytes ||
        buckets.back().front().scalar_type() != tensor.scalar_type()) {
      buckets.emplace_back();
      bytes = size;
    }
    buckets.back().push_back(tensor);
  }
  return buckets;
}

std::span<std::byte> BytesOf(const at::Tensor& tensor) {
  GANDEM_CHECK(tensor.is_contiguous());
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

}  // namespace gandem
