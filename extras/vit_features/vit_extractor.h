// SPDX-License-Identifier: Apache-2.0
//
// Features of CLIP's image half and of DINOv2 (vision_transformer.h) by a
// user's own weights. Images are made ready as the programs do whose figures
// one compares with; the metric card names it:
//
//   dinov2  both sides to 224 pixels, Pillow's bicubic of 8 bits; ImageNet's
//           mean and standard deviation. dgm-eval (Stein et al. 2023, "Exposing
//           flaws of generative model evaluation metrics ...") by default.
//   clip    the square in the middle, to the network's size with the same
//           kernel; CLIP's mean and standard deviation. The code of CMMD
//           (Jayasumana et al. 2024). Features have the length that they have:
//           cmmd makes it 1, a Frechet distance takes them as they are.
//
// Owner, thread safety: see feature_extractor.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"
#include "evaluation/features/feature_extractor.h"
#include "extras/vit_features/vit_weights.h"

namespace gandem {

// images_NCHW: uint8, contiguous, 1 or 3 channels; one channel stands for
// three. Returns float32 [N, 3, size, size].
at::Tensor VitInput(const at::Tensor& images_NCHW, VitFamily family,
                    int64_t size);

// `tensors` are those of the file whose hash is `sha256`.
//   INVALID_ARGUMENT  they are not such weights (vit_weights.h), or the input
//                     would have more than 1024 pixels a side or no whole
//                     number of patches.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeVitExtractor(
    VitFamily family, std::vector<NamedTensor> tensors,
    const std::string& sha256, const FeatureCompute& compute = {});

}  // namespace gandem
