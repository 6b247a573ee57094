// SPDX-License-Identifier: Apache-2.0
//
// The kinds of files that images come from, a row of one table each. A new kind
// is a pair of files that implements Dataset, its test and its row.
//
// Thread safety: pure functions, but for reading files.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

enum class SourceUse {
  kTrain,     // data.idx_images and data.idx_inputs name it
  kEvaluate,  // images to be judged as they are
};

// Finds out of which kind spec.path is. Errors of that kind, and
//   INVALID_ARGUMENT  it is of none that has this use; lists them.
absl::StatusOr<std::unique_ptr<Dataset>> OpenSource(SourceUse use,
                                                    const SourceSpec& spec);

}  // namespace gandem
