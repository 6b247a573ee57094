// SPDX-License-Identifier: Apache-2.0
//
// Features of the FID Inception (inception_v3.h): its last average pool, 2048
// numbers, or an earlier layer, of which the card's network is another one; and
// its logits without bias, as the Inception Score wants them.
// inception_input.h has how its input is made.
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

// `tensors` are those of the file whose hash is `sha256`.
//   INVALID_ARGUMENT  they are not the weights of a FID Inception; lists those
//                     that are missing or misshapen. Or dims of no layer.
absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeInceptionExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options);

// INVALID_ARGUMENT  the network has no such layer; lists those it has.
absl::Status CheckInceptionDims(int64_t dims);

// Whether the published file of weights or of TorchScript has this hash.
bool IsPublishedInception(const std::string& sha256);

}  // namespace gandem
