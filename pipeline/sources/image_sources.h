// SPDX-License-Identifier: Apache-2.0
//
// The kinds of sources that images come from, a row of one table each: for
// training, for `gandem evaluate` and for `gandem dataset` alike. A new kind is
// a pair of files that makes an ImageStore, its test and its row.
//
// Thread safety: pure functions, but for reading files.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/image_store.h"

namespace gandem {

// Finds out of which kind `path` is, a path or a URL. Errors of that kind, and
//   NOT_FOUND         there is no such file or folder.
//   INVALID_ARGUMENT  it is of no kind; says what it is, and lists them.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenSource(const std::string& path);

// "60,000 images, 28 x 28, gray, 10 classes: IDX files /data/..." Looks at some
// of the images.
absl::StatusOr<std::string> DescribeSource(const ImageStore& source,
                                           const std::string& path);

// 1 where up to 64 images, evenly spread, are all gray, else 3. Errors of
// reading them.
absl::StatusOr<int64_t> ChannelsOf(const ImageStore& source);

}  // namespace gandem
