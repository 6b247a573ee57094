// SPDX-License-Identifier: Apache-2.0
//
// Images of any kind that docs/data.md lists, as they are stored and as
// reference programs read them (evaluation/images/stored_images.h).
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

// `known` is what shape() said in another process: then headers of files are
// not looked at. Errors of OpenSource and of StoredImages, and
//   NOT_FOUND  there is no such file or folder.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenFileImages(
    const std::string& path, std::optional<ImageShape> known = std::nullopt);

}  // namespace gandem
