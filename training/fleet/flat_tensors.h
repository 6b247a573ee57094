// SPDX-License-Identifier: Apache-2.0
//
// Tensors side by side in one piece of memory, as a Collective wants them: each
// in its logical order, whatever its strides and device, and of one type.
//
// Owner: whoever shares these tensors with other ranks; it shares the tensors.
// Thread safety: one thread. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/collective.h"

namespace gandem {

class FlatTensors {
 public:
  // Room on `device` for values of these tensors in `type`, and for `extra`
  // further ones.
  FlatTensors(const std::vector<at::Tensor>& like, at::ScalarType type,
              int64_t extra, at::Device device);

  // Where tensor `index` of the list has its values: a view in its shape.
  const at::Tensor& operator[](size_t index) const { return views_[index]; }
  const at::Tensor& extra() const { return views_.back(); }
  const at::Tensor& all() const { return flat_; }

  std::span<std::byte> bytes() const;
  ElementType element_type() const;

 private:
  at::Tensor flat_;
  std::vector<at::Tensor> views_;
};

// The tensors in order, split where one has another type or would make a bucket
// larger than `limit_bytes`. No bucket is empty.
std::vector<std::vector<at::Tensor>> SplitIntoBuckets(
    const std::vector<at::Tensor>& tensors, int64_t limit_bytes);

// The bytes of contiguous memory, wherever it is.
std::span<std::byte> BytesOf(const at::Tensor& tensor);

}  // namespace gandem
