// SPDX-License-Identifier: Apache-2.0
//
// 8-bit PNG files, gray or RGB, in the order of their names: those below a
// folder (with subfolders, one for each class, say) or in a .tar, as
// `gandem sample -o` writes them and others read them. They have no labels.
//
// Owner, thread safety: see dataset.h.
// Errors of opening: those of reading the files, and
//   INVALID_ARGUMENT  there are no images, images of another format than PNG,
//                     or of another kind; names the first.
//   DATA_LOSS         damaged.
// Images of another shape than the first are found when they are read
// (INVALID_ARGUMENT).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

absl::StatusOr<std::unique_ptr<Dataset>> OpenPngFolder(const SourceSpec& spec);

absl::StatusOr<std::unique_ptr<Dataset>> OpenPngTar(const SourceSpec& spec);

}  // namespace gandem
