// SPDX-License-Identifier: Apache-2.0
//
// Datasets that are made of others.
//
// Owner, thread safety: see dataset.h.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

// Image i has the channels of image i of `first`, then those of image i of
// `second`, which are of one height and width. Labels are those of `first`.
// Both are read as the same sample: what is drawn for one is for the other.
//   INVALID_ARGUMENT  one has more images than the other.
absl::StatusOr<std::unique_ptr<Dataset>> JoinPairs(
    std::unique_ptr<Dataset> first, std::unique_ptr<Dataset> second);

}  // namespace gandem
