// SPDX-License-Identifier: Apache-2.0
//
// Images among the files of a tree, sorted by name: files with endings of PNG,
// JPEG, WebP and unsupported image formats (.gif ...), and files with other
// names that begin as PNG, JPEG or WebP. unused() counts all other files,
// hidden files and macOS's additions to zips. tree_choice.h selects images;
// tree_labels.h finds their labels.
//
// Thread safety: pure functions, except for reading files.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/image_store.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {

// `member` as in KeepMember. Errors of KeepTrainSplit and KeepMember, and
//   INVALID_ARGUMENT  there are no images.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenTreeImages(
    std::unique_ptr<FileTree> tree, absl::string_view member = "");

}  // namespace gandem
