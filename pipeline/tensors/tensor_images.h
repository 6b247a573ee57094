// SPDX-License-Identifier: Apache-2.0
//
// Shards of tensors as a source; one read per sample. Decode renders a picture
// for people: the first three channels, or the first one, from [-1, 1].
//
// Owner, thread safety: see image_store.h.
// Errors: those of tensor_file.h and tensor_paths.h, and
//   INVALID_ARGUMENT  shards of different types or shapes.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/image_store.h"
#include "pipeline/trees/location.h"

namespace gandem {

absl::StatusOr<std::unique_ptr<ImageStore>> OpenTensorImages(
    const Location& at);

}  // namespace gandem
