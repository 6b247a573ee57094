// SPDX-License-Identifier: Apache-2.0
//
// Images of an .npz with one array uint8 [N, height, width, 1 or 3], held in
// memory as bytes; in a file with several arrays it is arr_0. They have no
// labels.
//
// Owner, thread safety: see dataset.h.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

// Errors of NpzReader, and
//   INVALID_ARGUMENT  there is no such array; says what there is.
absl::StatusOr<std::unique_ptr<Dataset>> OpenNpzImages(const SourceSpec& spec);

}  // namespace gandem
