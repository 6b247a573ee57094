// SPDX-License-Identifier: Apache-2.0
//
// The LPIPS distance (lpips_network.h) of two images as the one feature of
// their pair, which derived_images.h and generated_images.h make: bytes, or
// float32 in [-1, 1] where a byte is too coarse, the second image's channels
// after the first's.
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
//   INVALID_ARGUMENT  they are not such weights (lpips_network.h); the images
//                     are of several sizes or too small for the network.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeLpipsExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options);

}  // namespace gandem
