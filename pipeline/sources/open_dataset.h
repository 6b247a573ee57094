// SPDX-License-Identifier: Apache-2.0
//
// The dataset that a config asks for: reader, max_images and transform.
//
// Owner: the caller shares it. Thread safety: see dataset.h.
// Errors: those of OpenSource, PadTo, ResizeTo and JoinPairs, with the name of
// the field whose file is at fault.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/dataset.h"

namespace gandem {

class DataConfig;

absl::StatusOr<std::shared_ptr<const Dataset>> OpenDataset(
    const DataConfig& config);

// The labels of its images; empty: it has none.
absl::StatusOr<std::vector<uint8_t>> ReadDatasetLabels(
    const DataConfig& config);

// With idx_inputs: each image followed by the one that it is made of, as
// further channels.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenPairs(
    const DataConfig& config);

}  // namespace gandem
