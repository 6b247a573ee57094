// SPDX-License-Identifier: Apache-2.0
//
// Views of another source: a subset of its images, or one half of each image.
//
// Owner, thread safety: see image_store.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/image_store.h"

namespace gandem {

// Returns the increasing indices of the images named by an exclude list
// (pipeline/formats/exclude_list.h).
//   INVALID_ARGUMENT  no image has a listed name, or all images are listed.
absl::StatusOr<std::vector<int64_t>> FindImages(
    const ImageStore& source, const std::vector<std::string>& keys);

// Removes the images `left_out` (increasing indices, not all) from a source.
// The list alone decides, never read errors, so that a run always uses the same
// images. Hashes cover the remaining images and their indices.
std::unique_ptr<ImageStore> LeaveOut(std::shared_ptr<const ImageStore> source,
                                     const std::vector<int64_t>& left_out);

enum class ImageHalf { kLeft, kRight };

// Takes one half of each image that is a pair side by side (A|B, as in pix2pix
// datasets). The halves have equal width. Errors of Decode: those of the
// source, and
//   INVALID_ARGUMENT  an odd width.
std::unique_ptr<ImageStore> HalfOf(std::shared_ptr<const ImageStore> source,
                                   ImageHalf half);

}  // namespace gandem
