// SPDX-License-Identifier: Apache-2.0
//
// Features of any TorchScript file. Its forward takes uint8 NCHW images with
// three channels and returns features [N, D], or a tuple of features and logits
// [N, K].
//
// Two arguments are passed by name if forward has them, as in the file
// inception-2015-12-05.pt of StyleGAN2-ADA: `return_features = True` asks for
// features, and a second call with `no_output_bias = True` for class
// probabilities, whose logarithm serves as logits. The second call is skipped
// if the module has a linear layer `output` that makes these probabilities of
// the features, which is tested when the file is opened.
//
// Owner, thread safety: see feature_extractor.h.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "evaluation/features/feature_extractor.h"

namespace gandem {

// Tries the module on an image of options.image_shape.
//   DATA_LOSS         the file is damaged.
//   INVALID_ARGUMENT  the module does not take such an image, or returns
//                     something else.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> OpenTorchScriptExtractor(
    const std::string& path, const std::string& sha256,
    const ExtractorOptions& options);

}  // namespace gandem
