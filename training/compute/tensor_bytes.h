// SPDX-License-Identifier: Apache-2.0
//
// Images between tensors and the bytes that the exchange carries.
//
// Memory layout is part of the numerics (it chooses kernels), so both feedback
// modes and both kinds of exchange pass through the same two functions: values,
// strides and alignment of what they return depend on the arguments alone.
//
// Thread safety: pure functions. Errors: Torch exceptions; sizes are checked by
// the exchange before.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "common/shared_bytes.h"
#include "exchange/exchange.h"
#include "training/compute/compute.h"

namespace gandem {

// A copy in fresh memory with the strides of `compute.layout`.
at::Tensor InLayout(const at::Tensor& images_NCHW, const Compute& compute);

// Encoded bytes of the images; shares the tensor's memory when it can.
SharedBytes PackImages(const at::Tensor& images_NCHW,
                       const TensorFormat& format);

// The images of all pieces in order, as one tensor.
at::Tensor UnpackImages(const std::vector<ImageBatch>& pieces,
                        const Compute& compute);
at::Tensor UnpackImages(const SharedBytes& bytes, int64_t count,
                        const TensorFormat& format, const Compute& compute);

}  // namespace gandem
