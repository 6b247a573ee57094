// SPDX-License-Identifier: Apache-2.0
//
// Stored images that a DataConfig names, such as those of a run.
//
// Owner, thread safety, errors: see image_set.h.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "evaluation/images/image_set.h"
#include "proto/config.pb.h"

namespace gandem {

// The images are fitted as the config says. Errors of OpenDataset.
absl::StatusOr<std::unique_ptr<ImageSet>> OpenDatasetImages(
    const DataConfig& config);

}  // namespace gandem
