// SPDX-License-Identifier: Apache-2.0
//
// Converts images between tensors and the exchange's bytes.
//
// The memory layout affects the numerics, because it selects kernels. All
// feedback modes and exchanges therefore use these functions: values, strides
// and alignment of the results depend only on the arguments.
//
// Thread safety: pure functions.
// Errors: Torch exceptions. The exchange has already checked the sizes.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "common/shared_bytes.h"
#include "exchange/exchange.h"
#include "training/compute/compute.h"

namespace gandem {

// Copies the images to new memory with the strides of `compute.layout`.
at::Tensor InLayout(const at::Tensor& images_NCHW, const Compute& compute);

// Encodes the images; shares the tensor's memory if possible.
SharedBytes PackImages(const at::Tensor& images_NCHW,
                       const TensorFormat& format);

// Concatenates the images of all pieces, in order.
at::Tensor UnpackImages(const std::vector<ImageBatch>& pieces,
                        const Compute& compute);
at::Tensor UnpackImages(const SharedBytes& bytes, int64_t count,
                        const TensorFormat& format, const Compute& compute);

}  // namespace gandem
