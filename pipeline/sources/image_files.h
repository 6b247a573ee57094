// SPDX-License-Identifier: Apache-2.0
//
// Which files of a tree are images, by their names or else by how they begin.
//
// Thread safety: pure functions, but for reading files.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/trees/file_tree.h"
#include "pipeline/unused_files.h"

namespace gandem {

struct ImageFiles {
  std::vector<int64_t> images = {};  // places in tree.files(), rising
  UnusedFiles unused = {};           // with those of the tree
};

// Errors of reading, but for files whose content is at fault.
absl::StatusOr<ImageFiles> FindImageFiles(const FileTree& tree);

}  // namespace gandem
