// SPDX-License-Identifier: Apache-2.0
//
// Images of any kind that docs/data.md lists, as the programs that compute
// metrics read them: Pillow's Image.open(file).convert("RGB"), each in its own
// size. Where all of them are gray they keep their one channel, which stands
// for three equal ones.
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

// Looks at the headers of all files, so that nothing is found out in the middle
// of an evaluation, unless `known` is the shape() of such a look. Errors of
// OpenSource, and
//   NOT_FOUND         there is no such file or folder.
//   INVALID_ARGUMENT  there are no images, or of a kind that is not read
//                     (ImageReading::kPlain).
//   DATA_LOSS         the first image cannot be decoded.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenFileImages(
    const std::string& path, std::optional<ImageShape> known = std::nullopt);

}  // namespace gandem
