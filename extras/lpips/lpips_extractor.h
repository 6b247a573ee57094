// SPDX-License-Identifier: Apache-2.0
//
// The LPIPS distance (lpips_network.h) of two images, as the one feature of
// their pair. derived_images.h and generated_images.h make pairs: bytes, or
// float32 in [-1, 1] where a byte is too coarse. The second image's channels
// follow the first's.
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

// `tensors` are the contents of the file with the hash `sha256`.
//   INVALID_ARGUMENT  the tensors are not weights of LPIPS; the images
//                     have several sizes or are too small for the network.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeLpipsExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options);

}  // namespace gandem
