// SPDX-License-Identifier: Apache-2.0
//
// The input of the FID Inception: 8-bit images of any size become 299 x 299
// floats, by bilinear interpolation without smoothing, which is part of what
// FID means (Parmar, Zhang and Zhu 2022, "On aliased resizing", section 3).
//
//   kTf1Bilinear        pixel i is at i * in / out; then (x - 128) / 128
//   kHalfPixelBilinear  pixel i is at (i + 1/2) * in / out - 1/2; then
//                       x / 127.5 - 1, as pytorch-fid does
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "evaluation/features/feature_extractor.h"

namespace gandem {

inline constexpr int64_t kInceptionSize = 299;

// For metric cards.
std::string ResizeName(ResizeKernel kernel);

// images_NCHW: uint8, contiguous, 1 or 3 channels; one channel stands for
// three. Returns float32 [N, 3, 299, 299] with the strides of channels last.
at::Tensor ResizeForInception(const at::Tensor& images_NCHW,
                              ResizeKernel kernel);

}  // namespace gandem
