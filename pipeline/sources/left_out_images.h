// SPDX-License-Identifier: Apache-2.0
//
// A source without some of its images. Which ones are left out depends on a
// list alone, never on what happens while reading: a run has the same images
// from its first start to its last.
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

// `left_out` are rising places of `source`, not all of them. Labels and classes
// stay. Its hashes are of the images that are left and of their places.
std::unique_ptr<ImageStore> LeaveOut(std::unique_ptr<const ImageStore> source,
                                     const std::vector<int64_t>& left_out);

}  // namespace gandem
