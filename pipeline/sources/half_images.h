// SPDX-License-Identifier: Apache-2.0
//
// One half of each image of a source whose images are pairs side by side (A|B,
// as pix2pix's data sets are). The halves are equally wide.
//
// Owner, thread safety: see image_store.h.
// Errors of Read: those of the source, and
//   INVALID_ARGUMENT  an odd width.
#pragma once

#include <memory>

#include "pipeline/image_store.h"

namespace gandem {

enum class ImageHalf { kLeft, kRight };

std::unique_ptr<ImageStore> HalfOf(std::shared_ptr<const ImageStore> source,
                                   ImageHalf half);

}  // namespace gandem
