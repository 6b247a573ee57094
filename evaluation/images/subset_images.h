// SPDX-License-Identifier: Apache-2.0
//
// Some images of a set, drawn without replacement: a folder may be sorted by
// class, so its first images are no sample of it. Which ones is a function of
// (seed, count, size of the set) alone; they keep their order, so that archives
// are read from front to back.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "evaluation/images/image_set.h"

namespace gandem {

//   INVALID_ARGUMENT  the count is not in [1, size of the set].
absl::StatusOr<std::unique_ptr<ImageSet>> SubsetOf(
    std::unique_ptr<ImageSet> inner, const ImagesSpec::Subset& subset);

}  // namespace gandem
