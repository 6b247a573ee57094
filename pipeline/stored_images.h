// SPDX-License-Identifier: Apache-2.0
//
// The images of a source as they are stored, all of one shape and nothing done
// to them: what metrics are defined for.
//
// Owner, thread safety: see dataset.h.
// Errors of Read: those of the source, and
//   INVALID_ARGUMENT  an image of another shape than the first, or one that is
//                     not 8-bit gray or RGB: each program converts others in
//                     its own way.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"
#include "pipeline/image_store.h"

namespace gandem {

// Reads the first image, with the errors above.
absl::StatusOr<std::unique_ptr<Dataset>> AsStored(
    std::unique_ptr<const ImageStore> source);

}  // namespace gandem
