// SPDX-License-Identifier: Apache-2.0
//
// Features of the FID Inception (inception_v3.h): the 2048 numbers of its last
// average pool, or an earlier layer, which is a network of its own in metric
// cards. Logits have no bias, as in the Inception Score. inception_input.h
// describes the input.
//
// Owner, thread safety: see feature_extractor.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"
#include "evaluation/features/feature_extractor.h"

namespace gandem {

// `tensors` come from the file whose hash is `sha256`.
//   INVALID_ARGUMENT  the tensors are no weights of a FID Inception (lists
//                     missing and misshapen ones), or no layer has the dims.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeInceptionExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options);

// INVALID_ARGUMENT  the network has no such layer; lists its layers.
absl::Status CheckInceptionDims(int64_t dims);

// Whether this is the hash of the published weights or TorchScript file.
bool IsPublishedInception(const std::string& sha256);

}  // namespace gandem
