// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/elementwise.h"

#include <ATen/TensorIterator.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sign.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>

#include "common/check.h"

namespace gandem {

TensorBatch operator+(const TensorBatch& a, const TensorBatch& b) {
  return {at::_foreach_add(a.tensors, b.tensors)};
}
TensorBatch operator-(const TensorBatch& a, const TensorBatch& b) {
  return {at::_foreach_sub(a.tensors, b.tensors)};
}
TensorBatch operator*(const TensorBatch& a, const TensorBatch& b) {
  return {at::_foreach_mul(a.tensors, b.tensors)};
}
TensorBatch operator/(const TensorBatch& a, const TensorBatch& b) {
  return {at::_foreach_div(a.tensors, b.tensors)};
}
TensorBatch operator+(const TensorBatch& a, double b) {
  return {at::_foreach_add(a.tensors, b)};
}
TensorBatch operator*(double a, const TensorBatch& b) {
  return {at::_foreach_mul(b.tensors, a)};
}
TensorBatch Sqrt(const TensorBatch& a) {
  return {at::_foreach_sqrt(a.tensors)};
}
TensorBatch Sign(const TensorBatch& a) {
  return {at::_foreach_sign(a.tensors)};
}

namespace elementwise_internal {

bool HaveOneLoop(std::span<const at::Tensor* const> tensors) {
  const at::Tensor& first = *tensors.front();
  if (!first.is_cpu() || !first.is_non_overlapping_and_dense() ||
      (first.scalar_type() != at::kFloat &&
       first.scalar_type() != at::kDouble)) {
    return false;
  }
  for (const at::Tensor* tensor : tensors) {
    if (tensor->device() != first.device() ||
        tensor->scalar_type() != first.scalar_type() ||
        tensor->sizes() != first.sizes() ||
        tensor->strides() != first.strides()) {
      return false;
    }
  }
  return true;
}

void ForEachRow(std::span<const at::Tensor* const> tensors, int num_written,
                Row row) {
  at::TensorIteratorConfig config;
  // HaveOneLoop() has checked these properties.
  config.set_check_mem_overlap(false)
      .resize_outputs(false)
      .check_all_same_dtype(false);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (static_cast<int>(i) < num_written) {
      config.add_borrowed_output(*tensors[i]);
      tensors[i]->unsafeGetTensorImpl()->bump_version();  // as in-place
    } else {
      config.add_borrowed_const_input(*tensors[i]);
    }
  }
  at::TensorIterator iterator = config.build();
  const int64_t element_size = tensors.front()->element_size();
  iterator.for_each(
      [&](char** data, const int64_t* strides, int64_t count, int64_t rows) {
        // The iterator joins tensors of equal dense layout into one row.
        GANDEM_CHECK(rows == 1);
        for (size_t i = 0; i < tensors.size() && count > 1; ++i) {
          GANDEM_CHECK(strides[i] == element_size);
        }
        row(data, count);
      });
}

void Store(Tensors& tensors, const TensorBatch& values) {
  if (values.tensors.front().is_same(tensors.front())) return;
  at::_foreach_copy_(tensors, values.tensors);
}

}  // namespace elementwise_internal
}  // namespace gandem
