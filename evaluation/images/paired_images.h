// SPDX-License-Identifier: Apache-2.0
//
// The images of a set two by two, each in one pair at most: element i has the
// channels of one image and then those of another. Which two is drawn at
// random, since images beside each other may be of one class; it is a function
// of the set's size alone, or for a generator, whose images are drawn already,
// 2 i and 2 i + 1. shape() is that of one image.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "evaluation/images/image_set.h"

namespace gandem {

//   INVALID_ARGUMENT  the images are of several sizes, or there is only one.
absl::StatusOr<std::unique_ptr<ImageSet>> PairsOf(
    std::unique_ptr<ImageSet> inner);

}  // namespace gandem
