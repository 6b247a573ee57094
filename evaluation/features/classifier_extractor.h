// SPDX-License-Identifier: Apache-2.0
//
// Features of a classifier that train-features has written: its hidden layer.
// Images must have the classifier's own shape.
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
//   INVALID_ARGUMENT  they are no classifier, or one for other images.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeClassifierExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options);

}  // namespace gandem
