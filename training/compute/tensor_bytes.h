// SPDX-License-Identifier: Apache-2.0
//
// Converts images between tensors and the bytes that the exchange carries.
//
// Memory layout is part of the numerics, since it selects kernels. All feedback
// modes and exchanges therefore use these functions: values, strides and
// alignment of the results depend on the arguments alone.
//
// Thread safety: pure functions.
// Errors: Torch exceptions. The exchange has checked the sizes.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "common/shared_bytes.h"
#include "exchange/exchange.h"
#include "training/compute/compute.h"

namespace gandem {

// A copy in fresh memory with the strides of `compute.layout`.
at::Tensor InLayout(const at::Tensor& images_NCHW, const Compute& compute);

// Encoded bytes of the images; shares the tensor's memory if possible.
SharedBytes PackImages(const at::Tensor& images_NCHW,
                       const TensorFormat& format);

// The images of all pieces, in order, as one tensor.
at::Tensor UnpackImages(const std::vector<ImageBatch>& pieces,
                        const Compute& compute);
at::Tensor UnpackImages(const SharedBytes& bytes, int64_t count,
                        const TensorFormat& format, const Compute& compute);

}  // namespace gandem
