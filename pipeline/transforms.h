// SPDX-License-Identifier: Apache-2.0
//
// Datasets made of other datasets.
//
// Owner, thread safety: see dataset.h.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

// Concatenates the channels of image i of `first` and image i of `second`,
// which have the same height and width. Labels are those of `first`. Both
// images use the same random draws.
//   INVALID_ARGUMENT  the datasets differ in size.
absl::StatusOr<std::unique_ptr<Dataset>> JoinPairs(
    std::unique_ptr<Dataset> first, std::unique_ptr<Dataset> second);

}  // namespace gandem
