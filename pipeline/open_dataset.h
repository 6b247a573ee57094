// SPDX-License-Identifier: Apache-2.0
//
// The dataset that a config asks for: reader, max_images and transform.
//
// Owner: the caller shares it. Thread safety: see dataset.h.
// Errors: those of IdxDataset::Open, PadTo and ResizeTo.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

class DataConfig;

absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(
    const DataConfig& config);

}  // namespace gandem
