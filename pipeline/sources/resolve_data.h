// SPDX-License-Identifier: Apache-2.0
//
// What a config leaves open about its images, and the images say.
//
// Owner, thread safety: pure functions, but for reading images.
// Errors: those of reading them, with what to do.
#pragma once

#include <cstdint>
#include <optional>
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

// What of it needs no look at the images: data.order of a data.source that is
// an address (has ://) is SHARDS.
void ResolveOrderUnseen(DataConfig& config);

// data.order and, of SHARDS, data.shuffle_window. What is read of a source
// behind a network, or in units, in larger pieces than images is kept for a
// while (KeptBytes): windows are of images that fill a quarter of it, at most
// 16,384, so that no piece is read for one image after the other.
void ResolveOrder(const ImageStore& source, DataConfig& config);

// Shares of data.memory_bytes: for blocks of remote files, and for units that
// are read as a whole.
int64_t BlockBytes(const DataConfig& config);
int64_t UnitBytes(const DataConfig& config);

// Of larger pieces of `source`, as a worker keeps them; nothing: all of them
// are at hand (files of this machine).
std::optional<int64_t> KeptBytes(const ImageStore& source,
                                 const DataConfig& config);

// What to do where the pieces of data.shuffle_window images do not fit into
// what is kept of them; "" where they do. `config` is resolved.
std::string AdviceOnWindow(const ImageStore& source, const DataConfig& config);

}  // namespace gandem
