// SPDX-License-Identifier: Apache-2.0
//
// Images of any kind in docs/data.md, read as other evaluation programs read
// them: Pillow's Image.open(file).convert("RGB"), each in its own size. If all
// images are gray, they keep one channel, which stands for three equal ones.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/image_shape.h"
#include "evaluation/images/image_set.h"

namespace gandem {

// Reads the headers of all files, so that bad files fail before an evaluation
// starts; `known`, the shape() of an earlier call, saves that. Errors of
// OpenSource, and
//   NOT_FOUND         there is no such file or folder.
//   INVALID_ARGUMENT  no images, or images of a kind that gandem does not read
//                     (ImageReading::kPlain).
//   DATA_LOSS         the first image cannot be decoded.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenFileImages(
    const std::string& path, std::optional<ImageShape> known = std::nullopt);

}  // namespace gandem
