// SPDX-License-Identifier: Apache-2.0
//
// What a config leaves open about its images, and the images say.
//
// Owner, thread safety: pure functions, but for reading images.
// Errors: those of reading them, with what to do.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image_store.h"

namespace gandem {

class DataConfig;

// Writes down what `source`, which is data.source's, decides where the config
// does not: channels, fit, crop, resize, order. IDX images between half of
// image_size and all of it are padded (MNIST's to 32), all others are cropped
// in the middle and resized. Reads images only if that takes it.
//   INVALID_ARGUMENT  also: a file of a format that is not read is among them;
//                     tensors of other channels than the config's, that a
//                     random crop is asked of, or of values beyond [-1, 1]
//                     where data.tensor_scale is not set.
absl::Status ResolveData(const ImageStore& source, DataConfig& config);

// The same, and what the source is (DescribeSource): reads the same images for
// both.
absl::StatusOr<std::string> ResolveAndDescribe(const ImageStore& source,
                                               DataConfig& config);

// What to do about an image that cannot be read (WithAdvice of
// pipeline/image_store.h); "" where there is no data.source.
std::string AdviceOnUnreadable(const DataConfig& config);

// What of it needs no look at the images: data.order, which is SHARDS where
// data.source is an address (has ://), else GLOBAL.
void ResolveOrder(DataConfig& config);

}  // namespace gandem
