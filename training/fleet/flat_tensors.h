// SPDX-License-Identifier: Apache-2.0
//
// Tensors of one type in one contiguous buffer, as a Collective requires. Each
// tensor is in logical order, independent of its strides and device.
//
// Owner: GradientBuckets, StateAverage and others.
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
  // Allocates a buffer on `device` in `type` for the values of tensors like
  // `like`, plus `extra` values.
  FlatTensors(const std::vector<at::Tensor>& like, at::ScalarType type,
              int64_t extra, at::Device device);

  // Returns a view of the values of tensor `index`, in its shape.
  const at::Tensor& operator[](size_t index) const { return views_[index]; }
  const at::Tensor& extra() const { return views_.back(); }
  const at::Tensor& all() const { return flat_; }

  std::span<std::byte> bytes() const;
  ElementType element_type() const;

 private:
  at::Tensor flat_;
  std::vector<at::Tensor> views_;
};

// Splits tensors, in order, into nonempty buckets of one type and at most
// `limit_bytes`. A larger tensor gets a bucket of its own.
std::vector<std::vector<at::Tensor>> SplitIntoBuckets(
    const std::vector<at::Tensor>& tensors, int64_t limit_bytes);

// Returns the bytes of a contiguous tensor on any device.
std::span<std::byte> BytesOf(const at::Tensor& tensor);

}  // namespace gandem
