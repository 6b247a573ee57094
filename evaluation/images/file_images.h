// SPDX-License-Identifier: Apache-2.0
//
// Images of files, in the order of their names: a folder of PNG files (with
// subfolders, one for each class, say), a .tar of PNG files, or an .npz with
// one array uint8 [N, height, width, 1 or 3], as `gandem sample -o` writes them
// and others read them.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/files/png.h"
#include "evaluation/images/image_set.h"

namespace gandem {

//   NOT_FOUND         there is no such file or folder.
//   INVALID_ARGUMENT  it holds no images, images of another format than PNG, or
//                     not 8-bit gray or RGB ones; names the first.
//   DATA_LOSS         damaged.
// Images of another shape than the first are found when they are read
// (INVALID_ARGUMENT).
absl::StatusOr<std::unique_ptr<ImageSet>> OpenFileImages(
    const std::string& path);

// A PNG of 8 bits, gray or RGB. DecodePng would convert others, and each
// program does that in its own way.
//   INVALID_ARGUMENT  another kind; says which and what to do.
//   DATA_LOSS         no PNG, or damaged. Both name `name`.
absl::StatusOr<PixelImage> DecodeEightBitPng(absl::string_view bytes,
                                             absl::string_view name);

}  // namespace gandem
