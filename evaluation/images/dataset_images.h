// SPDX-License-Identifier: Apache-2.0
//
// Stored images: those that a run trains on, or any others that a DataConfig
// names.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "evaluation/images/image_set.h"
#include "proto/config.pb.h"

namespace gandem {

// Fitted as the config says. Errors of OpenDataset.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenDatasetImages(
    const DataConfig& config);

}  // namespace gandem
