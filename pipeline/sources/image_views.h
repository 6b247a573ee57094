// SPDX-License-Identifier: Apache-2.0
//
// Sources that show another source's images: some of them, or one half of each.
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

// The places of the images that a list names (pipeline/formats/exclude_list.h),
// rising.
//   INVALID_ARGUMENT  a name that no image has; or all images are named.
absl::StatusOr<std::vector<int64_t>> FindImages(
    const ImageStore& source, const std::vector<std::string>& keys);

// A source without some of its images. Which ones are left out depends on a
// list alone, never on what happens while reading: a run has the same images
// from its first start to its last. `left_out` are rising places of `source`,
// not all of them. Labels and classes stay. Its hashes are of the images that
// are left and of their places.
std::unique_ptr<ImageStore> LeaveOut(std::shared_ptr<const ImageStore> source,
                                     const std::vector<int64_t>& left_out);

enum class ImageHalf { kLeft, kRight };

// One half of each image of a source whose images are pairs side by side (A|B,
// as pix2pix's data sets are). The halves are equally wide. Errors of Decode:
// those of the source, and
//   INVALID_ARGUMENT  an odd width.
std::unique_ptr<ImageStore> HalfOf(std::shared_ptr<const ImageStore> source,
                                   ImageHalf half);

}  // namespace gandem
