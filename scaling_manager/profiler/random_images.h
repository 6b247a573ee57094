// SPDX-License-Identifier: Apache-2.0
//
// Random bytes in place of real images for probes, in the size that the
// networks see, so that a probe neither reads nor resizes stored images.
// (profile_command.cc measures the input pipeline separately.)
// Thread safety: any thread. Errors: those of writing files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

// Writes random images into the existing `folder`. Returns the config that
// reads them in place of the recipe's images, with the same sizes, labels and
// pairs. RGB images with labels are written as CIFAR and resized.
absl::StatusOr<DataConfig> WriteRandomImages(const DataConfig& recipe,
                                             const std::string& folder);

}  // namespace gandem
