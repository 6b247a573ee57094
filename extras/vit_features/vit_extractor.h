// SPDX-License-Identifier: Apache-2.0
//
// Features of CLIP's image half and of DINOv2 (vision_transformer.h) with a
// user's own weights. Images are resized like in the programs whose figures are
// usually compared; the metric card names the method:
//
//   dinov2  both sides to 224 pixels, Pillow's bicubic of 8 bits; ImageNet's
//           mean and standard deviation. This is the default of dgm-eval (Stein
//           et al. 2023, "Exposing flaws of generative model evaluation metrics
//           ...").
//   clip    the central square, resized to the network's size with the same
//           kernel; CLIP's mean and standard deviation. This is the code of
//           CMMD (Jayasumana et al. 2024). Features are not normalized here:
//           cmmd does it, a Frechet distance does not.
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

// images_NCHW: uint8, contiguous, 3 channels, or 1 that is repeated. Returns
// float32 [N, 3, size, size].
at::Tensor VitInput(const at::Tensor& images_NCHW, VitFamily family,
                    int64_t size);

// `tensors` are the contents of the file with the hash `sha256`.
//   INVALID_ARGUMENT  the tensors are not weights of this family, or the input
//                     would have more than 1024 pixels a side or not a whole
//                     number of patches.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeVitExtractor(
    VitFamily family, std::vector<NamedTensor> tensors,
    const std::string& sha256, const FeatureCompute& compute = {});

}  // namespace gandem
