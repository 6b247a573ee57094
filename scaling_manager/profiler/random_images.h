// SPDX-License-Identifier: Apache-2.0
//
// Real images for probes: random bytes of the size that the networks see, so
// that nothing has to be read, resized or looked up. (What a pipeline gives is
// measured apart, profile_command.cc.)
//
// Thread safety: any thread. Errors: those of writing.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"

namespace gandem {

// Writes them into `folder`, which is there, and returns the config that reads
// them in place of `recipe`'s, with the same sizes, labels and pairs. RGB
// images with labels are CIFAR's, which has both in memory, and resized.
absl::StatusOr<DataConfig> WriteRandomImages(const DataConfig& recipe,
                                             const std::string& folder);

}  // namespace gandem
