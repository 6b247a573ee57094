// SPDX-License-Identifier: Apache-2.0
//
// Opens sources of images for training, `gandem evaluate` and `gandem dataset`.
// Each kind of source is a row of one table (source_kind.h). A new kind needs a
// pair of files that makes an ImageStore, a test and a row.
//
// Thread safety: pure functions, except for reading files.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/image_store.h"
#include "pipeline/sources/source_kind.h"

namespace gandem {

// Detects the kind of source at `path`, a path or a URL, and opens it. Errors
// of Locate (trees/location.h) and of the kind, and
//   INVALID_ARGUMENT     an unknown kind; describes `path` and lists the kinds.
//                        Also `member` with a kind that has no members.
//   FAILED_PRECONDITION  this build lacks the extra for the kind.
OpenedSource OpenSource(const std::string& path,
                        const SourceOptions& options = {});

// Properties of up to 64 evenly spaced images of a source.
struct SourceLook {
  int64_t least_height = INT64_MAX, most_height = 0;
  int64_t least_width = INT64_MAX, most_width = 0;
  bool any_gray = false;
  bool any_color = false;
  float most_value = 0;  // largest magnitude of tensors

  // Returns 1 if all images are gray, otherwise 3.
  int64_t channels() const { return any_color ? 3 : 1; }
};

// Reads the images and returns their errors. `for_channels`: only channels() is
// needed, so the first color image ends the search.
absl::StatusOr<SourceLook> LookAtImages(const ImageStore& source,
                                        bool for_channels = false);

// Formats "60,000 images, 28 x 28, gray, 10 classes: IDX files /data/...".
std::string DescribeSource(const ImageStore& source, const SourceLook& look,
                           const std::string& path);

}  // namespace gandem
