// SPDX-License-Identifier: Apache-2.0
//
// Features of the FID Inception (inception_v3.h): its last average pool, 2048
// numbers; and its logits without bias, as the Inception Score wants them.
//
// Its input is 299 x 299 floats, made of 8-bit images of any size by bilinear
// interpolation without smoothing, which is part of what FID means (Parmar,
// Zhang and Zhu 2022, "On aliased resizing", section 3).
//
//   kTf1Bilinear        pixel i is at i * in / out; then (x - 128) / 128
//   kHalfPixelBilinear  pixel i is at (i + 1/2) * in / out - 1/2; then
//                       x / 127.5 - 1, as pytorch-fid does
//
// Owner, thread safety: see feature_extractor.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"
#include "evaluation/features/feature_extractor.h"

namespace gandem {

// `tensors` are those of the file whose hash is `sha256`.
//   INVALID_ARGUMENT  they are not the weights of a FID Inception; lists those
//                     that are missing or misshapen.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeInceptionExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options);

// images_NCHW: uint8, contiguous, 1 or 3 channels; one channel stands for
// three. Returns float32 [N, 3, 299, 299] with the strides of channels last.
at::Tensor ResizeForInception(const at::Tensor& images_NCHW,
                              ResizeKernel kernel);

// Whether the published file of weights or of TorchScript has this hash.
bool IsPublishedInception(const std::string& sha256);

}  // namespace gandem
