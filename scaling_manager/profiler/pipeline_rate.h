// SPDX-License-Identifier: Apache-2.0
//
// How fast one thread makes real images of stored ones, once they were read.
//
// Thread safety: any thread. Errors: those of opening and reading the dataset.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"

namespace gandem {

// Images a second: decoding, cropping, resizing. Reads some hundred images at
// most, and works until about `limit` is over.
absl::StatusOr<double> ImagesPerDecodeThreadSecond(const DataConfig& data,
                                                   absl::Duration limit);

}  // namespace gandem
