// SPDX-License-Identifier: Apache-2.0
//
// The input of the FID Inception: 299 x 299 floats, made of 8-bit images of any
// size. The resize affects the metric (Parmar, Zhang and Zhu 2022, "On aliased
// resizing", section 3), and programs differ:
//
//   kTf1         pixel i is at i * in / out, bilinear without smoothing; then
//                (x - 128) / 128. TensorFlow 1 and with it the FID of the
//                papers, torch-fidelity, and StyleGAN's TorchScript file.
//   kPytorchFid  pixel i is at (i + 1/2) * in / out - 1/2, bilinear without
//                smoothing; then x / 127.5 - 1. pytorch-fid.
//   kClean       Pillow's bicubic for floats, which smoothes where it shrinks,
//                cut to [0, 255] and not rounded; then (x - 128) / 128.
//                clean-fid.
//
// Thread safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

enum class InputResize { kTf1, kPytorchFid, kClean };

// "tf1", "pytorch_fid" or "clean"; "" is "tf1".
//   INVALID_ARGUMENT  another name; lists them.
absl::StatusOr<InputResize> ParseInputResize(absl::string_view name);

// Description for metric cards and statistics files.
std::string InputResizeText(InputResize resize);

// images_NCHW: uint8, contiguous, 1 or 3 channels; one channel stands for
// three. Returns float32 [N, 3, 299, 299] with the strides of channels last.
at::Tensor ResizeForInception(const at::Tensor& images_NCHW,
                              InputResize resize);

}  // namespace gandem
