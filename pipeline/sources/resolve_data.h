// SPDX-License-Identifier: Apache-2.0
//
// Settings of the images that a config leaves open and the images determine.
//
// Owner, thread safety: pure functions, except for reading images.
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

// Resolves the config and describes the source (DescribeSource): reads the same
// images for both.
absl::StatusOr<std::string> ResolveAndDescribe(const ImageStore& source,
                                               DataConfig& config);

// Advice about an image that cannot be read (WithAdvice of
// pipeline/image_store.h); "" if there is no data.source.
std::string AdviceOnUnreadable(const DataConfig& config);

// Resolves the settings that do not depend on the images: data.order is SHARDS
// if data.source is an address (has ://).
void ResolveOrderUnseen(DataConfig& config);

// Resolves data.order and, for SHARDS, data.shuffle_window. A source behind a
// network, or one of units, is read in pieces larger than images, which are
// kept for a while (KeptBytes). A window has the images that fill a quarter of
// the kept bytes, at most 16,384, so that no piece is read again for each
// image.
void ResolveOrder(const ImageStore& source, DataConfig& config);

// Shares of data.memory_bytes: for blocks of remote files, and for units that
// are read as a whole.
int64_t BlockBytes(const DataConfig& config);
int64_t UnitBytes(const DataConfig& config);

// Bytes of larger pieces of `source` that a worker keeps; nullopt: all pieces
// are at hand (files of this machine).
std::optional<int64_t> KeptBytes(const ImageStore& source,
                                 const DataConfig& config);

// Advice if the pieces of data.shuffle_window images do not fit into the kept
// bytes; "" if they do. `config` is resolved.
std::string AdviceOnWindow(const ImageStore& source, const DataConfig& config);

}  // namespace gandem
