// SPDX-License-Identifier: Apache-2.0
//
// Gray images of an IDX pair, held in memory as bytes.
//
// Owner, thread safety: see dataset.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

// Labels of an IDX file, one for each image. `num_classes` 0: any label. Errors
// of ReadIdx, and
//   INVALID_ARGUMENT  one is not below num_classes.
absl::StatusOr<std::vector<uint8_t>> ReadIdxLabels(const std::string& path,
                                                   int64_t num_classes);

// Errors of ReadIdx and ReadIdxLabels, and
//   INVALID_ARGUMENT  the number of labels is not that of images.
absl::StatusOr<std::unique_ptr<Dataset>> OpenIdx(const SourceSpec& spec);

}  // namespace gandem
