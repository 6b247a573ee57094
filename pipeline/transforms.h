// SPDX-License-Identifier: Apache-2.0
//
// Datasets that change the images of others.
//
// Owner, thread safety: see dataset.h.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

// Centers each image on a size x size background of -1 (black). An odd pixel
// goes below and to the right.
//   INVALID_ARGUMENT  an image is larger than that.
absl::StatusOr<std::unique_ptr<Dataset>> PadTo(std::unique_ptr<Dataset> inner,
                                               int64_t size);

// Stretches or shrinks each image to size x size as resampler.h does.
//   INVALID_ARGUMENT  size is below 1.
absl::StatusOr<std::unique_ptr<Dataset>> ResizeTo(
    std::unique_ptr<Dataset> inner, int64_t size);

// Image i has the channels of image i of `first`, then those of image i of
// `second`, which are of one height and width. Labels are those of `first`.
//   INVALID_ARGUMENT  one has more images than the other.
absl::StatusOr<std::unique_ptr<Dataset>> JoinPairs(
    std::unique_ptr<Dataset> first, std::unique_ptr<Dataset> second);

}  // namespace gandem
