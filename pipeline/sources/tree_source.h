// SPDX-License-Identifier: Apache-2.0
//
// The images among the files of a tree, in the order of the tree, which is that
// of their names: files whose names end as those of PNG, JPEG, WebP or of
// images that cannot be read (.gif ...), and files with other names or none
// that begin as PNG, JPEG or WebP. unused() counts the others, hidden files and
// what macOS adds to zips. tree_choice.h says which of the images are taken,
// tree_labels.h what their labels are.
//
// Thread safety: pure functions, except for reading files.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/image_store.h"
#include "pipeline/trees/file_tree.h"

namespace gandem {

// `member` as of KeepMember. Errors of KeepTrainSplit and KeepMember, and
//   INVALID_ARGUMENT  there are no images.
absl::StatusOr<std::unique_ptr<ImageStore>> OpenTreeImages(
    std::unique_ptr<FileTree> tree, absl::string_view member = "");

}  // namespace gandem
