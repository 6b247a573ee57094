// SPDX-License-Identifier: Apache-2.0
//
// Which images a source holds, by what it tells without reading them: a file
// more or less gives all others another place in the order.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pipeline/image_store.h"

namespace gandem {

// Whether the name of each image follows from its place, as in arrays: images
// that are files of their own have no common shape.
inline bool HasComputedNames(const ImageStore& source) {
  return source.common_shape().has_value();
}

// SHA-256 in hex of the names within the source and the labels of all images,
// in their order, and of their bytes in all. Names that are computed count as
// the number of images and the first name of each unit: two thousand million of
// them cost nothing.
std::string ListingSha256(const ImageStore& source);

// FAILED_PRECONDITION unless it is `expected`; an empty one is any. Runs of
// older releases have hashed every name, computed or not: theirs is taken, too.
absl::Status CheckListing(const ImageStore& source, absl::string_view expected);

}  // namespace gandem
