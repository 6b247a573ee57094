// SPDX-License-Identifier: Apache-2.0
//
// The kinds of sources that images come from, a row of one table each
// (source_kind.h): for training, for `gandem evaluate` and for `gandem dataset`
// alike. A new kind is a pair of files that makes an ImageStore, its test and
// its row.
//
// Thread safety: pure functions, except for reading files.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/image_store.h"
#include "pipeline/sources/source_kind.h"

namespace gandem {

// Finds out of which kind `path` is, a path or a URL, and opens it. Errors of
// Locate (trees/location.h) and of that kind, and
//   INVALID_ARGUMENT  it is of no kind; says what it is, and lists them. Or it
//                     is of one without members.
//   FAILED_PRECONDITION  this build lacks the extra that opens it.
OpenedSource OpenSource(const std::string& path,
                        const SourceOptions& options = {});

// Appearance of up to 64 images of a source, evenly spread.
struct SourceLook {
  // Least and most pixels.
  int64_t least_height = INT64_MAX, most_height = 0;
  int64_t least_width = INT64_MAX, most_width = 0;
  bool any_gray = false;
  bool any_color = false;
  float most_value = 0;  // of tensors: the largest magnitude

  // 1 where all are gray, else 3.
  int64_t channels() const { return any_color ? 3 : 1; }
};

// Errors of reading them. `for_channels`: only channels() is wanted, which one
// in color decides.
absl::StatusOr<SourceLook> LookAtImages(const ImageStore& source,
                                        bool for_channels = false);

// "60,000 images, 28 x 28, gray, 10 classes: IDX files /data/..."
std::string DescribeSource(const ImageStore& source, const SourceLook& look,
                           const std::string& path);

}  // namespace gandem
